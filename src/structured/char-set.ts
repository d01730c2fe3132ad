/** Sets of Unicode code points, without the halves of surrogate pairs: those have no UTF-8. */

/** Ascending ranges, both ends included, neither overlapping nor touching. */
export type CharSet = readonly (readonly [first: number, last: number])[];

export const LAST_CODE_POINT = 0x10ffff;
const SURROGATES: CharSet = [[0xd800, 0xdfff]];

/** The ranges in any order, overlapping or not, as a set. */
export function charSet(ranges: CharSet): CharSet {
  return minus(merged(ranges), SURROGATES);
}

export function charsOf(text: string): CharSet {
  return charSet(Array.from(text, (char) => [char.codePointAt(0) ?? 0, char.codePointAt(0) ?? 0] as const));
}

export function union(...sets: readonly CharSet[]): CharSet {
  return merged(sets.flat());
}

/** All of `from` that `taken` has not. */
export function minus(from: CharSet, taken: CharSet): CharSet {
  let left: (readonly [number, number])[] = [...from];
  for (const [first, last] of taken) {
    left = left.flatMap(([a, b]) => {
      if (last < a || first > b) return [[a, b] as const];
      const before = first > a ? [[a, first - 1] as const] : [];
      return last < b ? [...before, [last + 1, b] as const] : before;
    });
  }
  return left;
}

export const ALL_CHARS: CharSet = charSet([[0, LAST_CODE_POINT]]);

export function complement(set: CharSet): CharSet {
  return minus(ALL_CHARS, set);
}

export function intersection(a: CharSet, b: CharSet): CharSet {
  return minus(a, complement(b));
}

export function hasChar(set: CharSet, codePoint: number): boolean {
  return set.some(([first, last]) => first <= codePoint && codePoint <= last);
}

function merged(ranges: CharSet): CharSet {
  const result: [number, number][] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const previous = result.at(-1);
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else result.push([first, last]);
  }
  return result;
}
