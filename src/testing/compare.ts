/** Comparison of number arrays that says where they differ. */

export interface Tolerance {
  /** Of |expected|. */
  relative?: number;
  absolute?: number;
}

/**
 * @throws with the index and both values where |actual − expected| > absolute + relative · |expected| is worst; also for
 *   different lengths, and where only one of the two is NaN or infinite
 */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  { relative = 0, absolute = 0 }: Tolerance,
): void {
  if (actual.length !== expected.length) {
    throw new Error(`${actual.length} values; ${expected.length} expected`);
  }
  let worst = { index: -1, excess: 0 };
  let count = 0;
  for (let index = 0; index < expected.length; index++) {
    const [a, e] = [actual[index] as number, expected[index] as number]; // in range
    if (Object.is(a, e) || a === e) continue;
    const difference = Math.abs(a - e);
    const allowed = absolute + relative * Math.abs(e);
    if (Number.isFinite(e) && difference <= allowed) continue;
    count++;
    const excess = Number.isFinite(difference) ? difference / (allowed || Number.MIN_VALUE) : Infinity;
    if (excess > worst.excess) worst = { index, excess };
  }
  if (count === 0) return;
  const { index } = worst;
  throw new Error(
    `${count} of ${expected.length} values differ by more than ${absolute} + ${relative} · |expected|; ` +
      `worst at [${index}]: ${actual[index]}, expected ${expected[index]}`,
  );
}
