/**
 * Which tokens keep a text valid UTF-8. xgrammar's classes take any bytes that look like a character, and its `.` the two
 * line separators; here they are taken out.
 */

/** 0: between characters. The others: how much of one is still to come, and what its first byte allows as the second. */
export type Utf8State = number;

/** Of the bytes that follow: [first, last, state after]. */
const STEPS: readonly (readonly (readonly [first: number, last: number, next: Utf8State])[])[] = [
  [
    ...([
      [0x00, 0x7f, 0],
      [0xc2, 0xdf, 1],
      [0xe0, 0xe0, 4],
      [0xe1, 0xe1, 2],
      [0xe2, 0xe2, 8],
      [0xe3, 0xec, 2],
    ] as const),
    ...([
      [0xed, 0xed, 5],
      [0xee, 0xef, 2],
      [0xf0, 0xf0, 6],
      [0xf1, 0xf3, 3],
      [0xf4, 0xf4, 7],
    ] as const),
  ],
  [[0x80, 0xbf, 0]],
  [[0x80, 0xbf, 1]],
  [[0x80, 0xbf, 2]],
  [[0xa0, 0xbf, 1]], // after E0: below that, two bytes would do
  [[0x80, 0x9f, 1]], // after ED: above are halves of surrogate pairs
  [[0x90, 0xbf, 2]], // after F0: below that, three bytes would do
  [[0x80, 0x8f, 2]], // after F4: above is nothing
  [
    [0x80, 0x80, 9],
    [0x81, 0xbf, 1],
  ], // after E2
  [
    [0x80, 0xa7, 0],
    [0xaa, 0xbf, 0],
  ], // after E2 80: A8 and A9 are U+2028 and U+2029
];

/** @returns undefined where the bytes are no text */
export function utf8After(state: Utf8State, bytes: Uint8Array): Utf8State | undefined {
  let now: Utf8State | undefined = state;
  for (const byte of bytes) {
    now = STEPS[now]?.find(([first, last]) => first <= byte && byte <= last)?.[2];
    if (now === undefined) return undefined;
  }
  return now;
}

/** Of one vocabulary: the tokens that go on with a text, by how it ends. */
export class Utf8Masks {
  readonly #masks = new Map<Utf8State, Uint32Array>();

  /** @param tokens bytes of each id */
  constructor(private readonly tokens: readonly Uint8Array[]) {}

  /** [ceil(V / 32)] words */
  after(state: Utf8State): Uint32Array {
    const kept = this.#masks.get(state);
    if (kept) return kept;
    const mask = new Uint32Array(Math.ceil(this.tokens.length / 32));
    this.tokens.forEach((bytes, id) => {
      if (utf8After(state, bytes) !== undefined) mask[id >>> 5] = (mask[id >>> 5] ?? 0) | (1 << (id & 31));
    });
    this.#masks.set(state, mask);
    return mask;
  }
}
