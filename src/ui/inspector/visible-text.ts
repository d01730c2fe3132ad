/** A token's text so that one sees it: blanks, line breaks and bytes that are no character have marks of their own. */

const MARKS: Readonly<Record<string, string>> = {
  " ": "␣",
  "\n": "⏎",
  "\r": "␍",
  "\t": "⇥",
  "\u00a0": "⍽",
};

/** Controls, and characters that turn the direction of a line or join what follows: their number is shown instead. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** @param bytes of the token; they are shown where it completes no character */
export function visibleText(text: string, bytes?: Uint8Array): string {
  if (text === "" && bytes !== undefined && bytes.length > 0) {
    return [...bytes].map((byte) => `‹${byte.toString(16).toUpperCase().padStart(2, "0")}›`).join("");
  }
  if (text === "") return "∅";
  return text
    .replace(/[ \n\r\t\u00a0]/g, (character) => MARKS[character] ?? character)
    .replace(UNSEEN, (character) => `‹${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`);
}
