import { str } from "@lit/localize";

export const templates = {
  "inspector-look-inside": "Hineinsehen",
  "inspector-stop-looking": "Innenansicht schließen",
  "inspector-look-failed": str`Die Innenansicht konnte nicht geholt werden: ${0}. Nach einem Blick auf die Verbindung hilft ein neuer Versuch.`,
};
