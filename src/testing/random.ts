/** Seeded random numbers for tests: the same seed gives the same numbers everywhere. */

/**
 * @returns a function that gives uniform numbers in [0, 1), from 32 bits each
 *
 * Source: splitmix32, the 32-bit finalizer of Steele et al. 2014 over a Weyl sequence.
 */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  };
}

/** `length` normally distributed numbers (Box & Muller 1958). */
export function normalValues(random: () => number, length: number, deviation = 1, mean = 0): Float32Array {
  return Float32Array.from({ length }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    return mean + deviation * radius * Math.cos(2 * Math.PI * random());
  });
}
