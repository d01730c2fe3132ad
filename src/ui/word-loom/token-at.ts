import type { WrittenToken } from "./written-token";

/**
 * The number of the token at a point; undefined where there is none.
 *
 * Lines follow each other downwards, so the first token that reaches down to the point is found by halving; on its line
 * (which may run in two directions) each is looked at.
 *
 * @param rectsOf where a token is seen; one on two lines has two rectangles
 */
export function tokenAt(
  tokens: readonly WrittenToken[],
  rectsOf: (token: WrittenToken) => ArrayLike<DOMRect>,
  x: number,
  y: number,
): number | undefined {
  /** Of the token or the next one that is seen at all. */
  const boxFrom = (index: number): { index: number; rects: readonly DOMRect[] } | undefined => {
    for (; index < tokens.length; index++) {
      const token = tokens[index];
      const rects = token && token.end > token.start ? Array.from(rectsOf(token)) : [];
      if (rects.length > 0) return { index, rects };
    }
    return undefined;
  };
  let [low, high] = [0, tokens.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = boxFrom(middle);
    if (found === undefined || Math.max(...found.rects.map(({ bottom }) => bottom)) > y) high = middle;
    else low = found.index + 1;
  }
  for (let found = boxFrom(low); found; found = boxFrom(found.index + 1)) {
    if (found.rects.some(({ left, right, top, bottom }) => left <= x && x < right && top <= y && y < bottom))
      return found.index;
    if (found.rects.every(({ top }) => top > y)) return undefined;
  }
  return undefined;
}
