/** JSON from a file that nobody vouches for: no name twice in one object, no deep nesting. */
import { WordloomError } from "../errors";
import { checkDepth, decodeUtf8, parseJsonText } from "./read-json";

/**
 * As JSON.parse, which keeps the last of two equal names and says nothing; here they are refused.
 *
 * @param name of the file or its part, for messages
 * @param maxDepth objects and arrays inside each other
 * @throws WordloomError file-invalid
 */
export function parseUniqueJson(bytes: Uint8Array, name: string, maxDepth: number): unknown {
  checkDepth(bytes, name, maxDepth);
  const text = decodeUtf8(bytes, name);
  const repeated = firstRepeatedName(text);
  const value = parseJsonText(text, name); // first of all, it must be JSON
  if (repeated !== undefined) throw new WordloomError("file-invalid", `${name} names ${repeated.slice(0, 120)} twice`);
  return value;
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/** The text may not be JSON at all; then the answer means nothing, but comes soon. */
function firstRepeatedName(text: string): string | undefined {
  /** Names seen in each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let repeated: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === OPEN_OBJECT || character === OPEN_ARRAY) {
      open.push(character === OPEN_OBJECT ? new Set() : undefined);
    } else if (character === CLOSE_OBJECT || character === CLOSE_ARRAY) open.pop();
    else if (character === QUOTE) {
      const end = endOfString(text, at);
      let after = end + 1;
      while (text.charCodeAt(after) <= 0x20) after++;
      if (text.charCodeAt(after) === COLON) {
        const names = open.at(-1);
        const key = unescaped(text.slice(at, end + 1));
        if (names?.has(key) === true) repeated ??= key;
        names?.add(key);
      }
      at = end;
    }
  }
  return repeated;
}

/** Position of the closing quote of the string that opens at `at`; the text's length if there is none. */
function endOfString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const character = text.charCodeAt(i);
    if (character === QUOTE) return i;
    if (character === BACKSLASH) i++;
  }
  return text.length;
}

function unescaped(literal: string): string {
  if (!literal.includes("\\")) return literal.slice(1, -1);
  try {
    return JSON.parse(literal) as string; // a string literal gives a string
  } catch {
    return literal; // not JSON: refused as such by the caller
  }
}
