import { str } from "@lit/localize";

export const templates = {
  "offline-language": "Sprache",
  "offline-language-failed": str`Die Wörter für ${0} konnten nicht geholt werden. Nach einem Blick auf die Verbindung hilft es, die Sprache noch einmal zu wählen.`,
};
