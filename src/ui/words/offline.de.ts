import { str } from "@lit/localize";

export const templates = {
  "offline-language": "Sprache",
  "offline-language-failed": str`Die Texte für ${0} ließen sich nicht laden. Bitte die Verbindung prüfen und die Sprache noch einmal wählen.`,
  "offline-update": "Eine neuere Version ist da.",
  "offline-update-use": "Verwenden",
  "offline-update-waits": "Wird verwendet, sobald kein Text mehr entsteht.",
  "offline-update-elsewhere": "Eine neuere Version ist in Gebrauch.",
  "offline-update-reload": "Hier laden",
  "offline-kept-failed": str`Ohne Netz würde diese Seite nicht funktionieren: ${0}.`,
  "offline-kept-insecure":
    "Nicht für die Nutzung ohne Netz gespeichert: Browser erlauben das nur über https und auf localhost.",
  "offline-kept-unsupported": "Dieser Browser speichert keine Seiten für die Nutzung ohne Netz.",
  "offline-kept-fetching": "Die Seite wird für die Nutzung ohne Netz gespeichert …",
  "offline-kept-page":
    "Die Seite öffnet sich auch ohne Netz; das Geschichtenmodell wird gespeichert, sobald es einmal geladen ist.",
  "offline-kept-all": "Die Seite und das Geschichtenmodell sind auf diesem Gerät gespeichert und laufen ohne Netz.",
  "offline-insecure-title": "Diese Adresse ist keine sichere.",
  "offline-insecure": str`Browser geben einer Seite von ${0} weder die Grafikkarte noch die Nutzung ohne Netz. Eines davon hilft:`,
  "offline-insecure-localhost": str`Auf dem Rechner, der die Seite ausliefert, stattdessen ${0} öffnen.`,
  "offline-insecure-tunnel": str`Auf einem anderen Rechner die Seite dorthin holen: ${0} ausführen, dann ${1} öffnen.`,
  "offline-insecure-https": "Oder die Seite über https ausliefern lassen.",
};
