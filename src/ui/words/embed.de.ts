import { str } from "@lit/localize";

export const templates = {
  "embed-refused": str`In der Adresse dieses Rahmens nicht verstanden: ${0}`,
  "embed-script": "Als Element der Seite",
  "embed-about-script":
    "word-loom.js (aus dem Ordner dist-lib des Pakets) neben die Seite legen. Der Server, auf dem das Modell liegt, muss die Seite es lesen lassen (CORS), wenn es nicht der eigene ist.",
  "embed-frame": "In einem Rahmen",
  "embed-about-frame":
    "Nichts davon reicht in die Seite hinein und nichts aus ihr heraus, außer Nachrichten zwischen dem Rahmen und dem Ursprung, den seine Adresse nennt; dort den eigenen eintragen.",
  "embed-policy": "Unter strengen Regeln erlauben:",
  "embed-copy": "Kopieren",
  "embed-copied": "Kopiert",
};
