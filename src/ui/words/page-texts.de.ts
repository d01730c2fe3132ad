/** `page-texts.ts` in German. */
import { str } from "@lit/localize";

export const templates = {
  "page-this-text": "Dieser Text",
  "page-text-version": str`${0} von ${1}`,
  "page-text-earlier": "Frühere Fassung",
  "page-text-later": "Spätere Fassung",
  "page-text-copy": "Kopieren",
  "page-text-copied": "Kopiert",
  "page-text-edit": "Ändern",
  "page-text-share-and-save": "Teilen und speichern",
  "page-texts-nothing-yet":
    "Noch ist nichts geschrieben. Was geschrieben wird, steht dann hier, zum Speichern und Teilen.",
  "page-texts-save": "Speichern",
  "page-texts-as-text": "Text",
  "page-texts-as-markdown": "Markdown",
  "page-texts-as-json": "JSON, mit Tokens",
  "page-texts-link": "Link",
  "page-texts-link-help":
    "Öffnet diese Seite mit demselben Anfang, Modell und denselben Einstellungen. Was hinter dem # steht, wird an keinen Server gesendet.",
  "page-texts-link-files":
    "Die Dateien des Modells auf diesem Gerät werden nicht geteilt: Wer den Link öffnet, bekommt das Modell dieser Seite.",
  "page-texts-with-text": "Mit dem Geschriebenen",
  "page-texts-copy-link": "Link kopieren",
  "page-texts-kept": "In diesem Browser behalten",
  "page-texts-keep": "Behalten, was hier geschrieben wird",
  "page-texts-keep-note":
    "Texte und Chats bleiben in diesem Browser, bis sie hier gelöscht werden, und gehen nirgendwohin sonst.",
  "page-texts-none": "Noch keine.",
  "page-texts-new": "Neuer Text",
  "page-texts-open": "Öffnen",
  "page-texts-open-named": str`„${0}“ öffnen`,
  "page-texts-delete": "Löschen",
  "page-texts-delete-named": str`„${0}“ löschen`,
  "page-texts-delete-all": "Alle löschen",
  "page-texts-delete-all-now": str`Alle ${0} löschen?`,
  "page-texts-deleted": str`„${0}“ ist gelöscht.`,
  "page-texts-all-deleted": "Alle sind gelöscht.",
  "page-texts-is-text": str`Text von ${0}, ${1}`,
  "page-texts-is-chat": str`Chat mit ${0}, ${1}`,
  "page-texts-untitled": "Ohne Worte",
  "page-texts-you": "Ich",
};
