/**
 * Characters in xgrammar's EBNF. Version 0.1.27 reads a class as bytes: one with characters beyond ASCII means something
 * else than it says, and a negated one takes whole characters but may only name ASCII. So a set is written as one of
 * these where it can be, and otherwise as the bytes of its characters (constrain.test.ts compares all of it).
 */
import { charSet, intersection, minus, type CharSet } from "./char-set";

const ASCII: CharSet = [[0, 0x7f]];
/** Never written at all (utf8.ts), so that "." may be a negated class. */
const LINE_SEPARATORS: CharSet = [[0x2028, 0x2029]];
const BEYOND_ASCII = minus(charSet([[0x80, 0x10ffff]]), LINE_SEPARATORS);

/** Letters, digits and blanks as they are; the rest by eight digits, since xgrammar reads `\x` on for as long as it can. */
export function escaped(codePoint: number): string {
  const char = String.fromCodePoint(codePoint);
  return /[A-Za-z0-9 ]/.test(char) ? char : `\\U${codePoint.toString(16).padStart(8, "0")}`;
}

/** @param set not empty */
export function printedSet(set: CharSet): string {
  const ascii = intersection(set, ASCII);
  const options = hasAllBeyondAscii(set)
    ? printedNegation(minus(ASCII, ascii))
    : [...(ascii.length > 0 ? [`[${printedRanges(ascii)}]`] : []), ...beyondAscii(set).map(printedSequence)];
  return options.length === 1 ? (options[0] ?? "") : `(${options.join(" | ")})`;
}

/** How many places for a byte there are in `printedSet`. */
export function placesInSet(set: CharSet): number {
  if (hasAllBeyondAscii(set)) return 1;
  return 1 + beyondAscii(set).reduce((sum, bytes) => sum + bytes.length, 0);
}

const beyondAscii = (set: CharSet): ByteRanges[] => minus(set, ASCII).flatMap(byteSequences);

function hasAllBeyondAscii(set: CharSet): boolean {
  return minus(BEYOND_ASCII, set).length === 0;
}

function printedNegation(left: CharSet): string[] {
  return left.length > 0 ? [`[^${printedRanges(left)}]`] : [`[${escaped(0)}]`, `[^${escaped(0)}]`];
}

function printedRanges(ranges: CharSet): string {
  return ranges
    .map(([first, last]) => (first === last ? escaped(first) : `${escaped(first)}-${escaped(last)}`))
    .join("");
}

type ByteRanges = readonly (readonly [first: number, last: number])[];

/** A class of what would be characters up to U+00FF is one of bytes; one of a single character is that character. */
const printedSequence = (bytes: ByteRanges): string =>
  bytes
    .map(([first, last]) =>
      first === last ? `[${escaped(first)}${escaped(first)}]` : `[${printedRanges([[first, last]])}]`,
    )
    .join(" ");

/** The UTF-8 of a range of characters, as sequences of ranges of bytes. */
function byteSequences([first, last]: readonly [number, number]): ByteRanges[] {
  for (const border of [0x7ff, 0xffff]) {
    if (first <= border && border < last)
      return [...byteSequences([first, border]), ...byteSequences([border + 1, last])];
  }
  const utf8 = new TextEncoder();
  const bytesOf = (codePoint: number) => [...utf8.encode(String.fromCodePoint(codePoint))];
  return between(bytesOf(first), bytesOf(last));
}

/** @param first, last as many bytes; all but the lead are continuations, 0x80 to 0xbf */
function between(first: readonly number[], last: readonly number[]): ByteRanges[] {
  const [from, ...fromRest] = first;
  const [to, ...toRest] = last;
  if (from === undefined || to === undefined) return [[]];
  const lowest = fromRest.map(() => 0x80);
  const highest = fromRest.map(() => 0xbf);
  const free = {
    first: fromRest.every((byte) => byte === 0x80) ? from : from + 1,
    last: toRest.every((byte) => byte === 0xbf) ? to : to - 1,
  };
  const behind = (lead: number, rests: ByteRanges[]) => rests.map((rest) => [[lead, lead] as const, ...rest]);
  if (from === to && free.first > free.last) return behind(from, between(fromRest, toRest));
  return [
    ...(free.first > from ? behind(from, between(fromRest, highest)) : []),
    ...(free.first <= free.last
      ? [[[free.first, free.last] as const, ...lowest.map(() => [0x80, 0xbf] as const)]]
      : []),
    ...(free.last < to ? behind(to, between(lowest, toRest)) : []),
  ];
}
