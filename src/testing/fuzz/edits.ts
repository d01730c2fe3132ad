/** Hostile inputs: a seed file with a few bytes, or a few values of its JSON, changed for the worse (fast-check). */
import fc from "fast-check";

/** The bytes of a file. */
export type Input = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

/** Numbers on whose far side something usually breaks. */
const BORDERS = [
  0,
  1,
  2,
  3,
  7,
  8,
  31,
  127,
  128,
  255,
  256,
  32767,
  65535,
  65536,
  2 ** 24,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
];
const LARGER = [2 ** 32, 2 ** 40, 2 ** 53 - 1, 2 ** 53, 2 ** 63, 2 ** 64];

type ByteEdit = (bytes: readonly number[]) => number[];
const place = fc.nat(2 ** 30);
const short = fc.array(fc.nat(255), { minLength: 1, maxLength: 8 });

function littleEndian(value: number, length: number): number[] {
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setBigUint64(0, BigInt.asUintN(64, BigInt(value)), true);
  return Array.from({ length }, (_, i) => bytes.getUint8(i));
}

const splice = (bytes: readonly number[], at: number, removed: number, added: readonly number[]): number[] =>
  bytes.slice(0, at).concat(added, bytes.slice(at + removed));

/** @param words spellings of the format, put in anywhere */
function byteEdits(words: readonly string[]): fc.Arbitrary<ByteEdit> {
  const at = (bytes: readonly number[], where: number): number => where % (bytes.length + 1);
  const overwrite = fc.tuple(place, short).map(([where, added]): ByteEdit => {
    return (bytes) => splice(bytes, at(bytes, where), added.length, added);
  });
  const insert = fc.tuple(place, short).map(
    ([where, added]): ByteEdit =>
      (bytes) =>
        splice(bytes, at(bytes, where), 0, added),
  );
  const remove = fc.tuple(place, fc.nat(16)).map(
    ([where, count]): ByteEdit =>
      (bytes) =>
        splice(bytes, at(bytes, where), count, []),
  );
  const cut = place.map(
    (where): ByteEdit =>
      (bytes) =>
        bytes.slice(0, at(bytes, where)),
  );
  const copy = fc.tuple(place, place, fc.nat(64)).map(([from, to, count]): ByteEdit => {
    return (bytes) => splice(bytes, at(bytes, to), 0, bytes.slice(at(bytes, from), at(bytes, from) + count));
  });
  const number = fc.tuple(place, fc.constantFrom(...BORDERS, ...LARGER), fc.constantFrom(1, 2, 4, 8)).map(
    ([where, value, size]): ByteEdit =>
      (bytes) =>
        splice(bytes, at(bytes, where), size, littleEndian(value, size)),
  );
  const flip = fc.tuple(place, fc.nat(7)).map(([where, bit]): ByteEdit => {
    return (bytes) => bytes.map((byte, i) => (i === where % Math.max(1, bytes.length) ? byte ^ (1 << bit) : byte));
  });
  const edits = [overwrite, insert, remove, cut, copy, number, flip];
  if (words.length === 0) return fc.oneof(...edits);
  const word = fc.tuple(place, fc.constantFrom(...words)).map(([where, text]): ByteEdit => {
    return (bytes) => splice(bytes, at(bytes, where), 0, Array.from(encoder.encode(text)));
  });
  return fc.oneof({ weight: 7, arbitrary: fc.oneof(...edits) }, { weight: 7, arbitrary: word });
}

/** One of the seeds with 1 to 6 places changed. */
export function editedBytes(seeds: readonly Uint8Array[], words: readonly string[] = []): fc.Arbitrary<Input> {
  const edits = fc.array(byteEdits(words), { minLength: 1, maxLength: 6 });
  return fc
    .tuple(fc.constantFrom(...seeds), edits)
    .map(([seed, changes]) => Uint8Array.from(changes.reduce((bytes, change) => change(bytes), Array.from(seed))));
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What a reader may not expect; the names are those that mean something to JavaScript's own objects. */
const NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "length",
  "then",
  "",
  "\ud800",
  "a",
];
const VALUES: readonly Json[] = [
  ...[null, true, false, "", " ", "a".repeat(300), "\u0000", "\u202e", "\ud800", "1", "-1", "{", "(a*)*b", "%"],
  ...[0, -0.5, -1, 0.1, 1e-320, 1e308, -1e308, ...BORDERS, ...LARGER],
  ...[[], [[]], {}, [null], [0], ["a"], { a: 1 }, { type: "a" }, Array<Json>(300).fill(0), Array<Json>(40).fill("a")],
  JSON.parse('{"__proto__":{"type":"BPE"},"constructor":1}') as Json,
  JSON.parse("[".repeat(50) + "]".repeat(50)) as Json,
];

interface Spot {
  holder: Record<string, Json>;
  key: string;
}

/** Every value inside `value`, with where it stands. */
function spotsIn(value: Json, spots: Spot[] = []): Spot[] {
  if (typeof value !== "object" || value === null) return spots;
  const holder = value as Record<string, Json>; // a list's keys are its places
  for (const key of Object.keys(holder)) {
    spots.push({ holder, key });
    spotsIn(holder[key] ?? null, spots);
  }
  return spots;
}

function put(holder: Record<string, Json>, key: string, value: Json): void {
  // "__proto__" as a name of its own, as JSON.parse has it.
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function take({ holder, key }: Spot): void {
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
}

type JsonEdit = (spots: readonly Spot[]) => void;

/** @param values further ones of the format, put in anywhere */
function jsonEdits(values: readonly Json[], names: readonly string[]): fc.Arbitrary<JsonEdit> {
  const value = fc.oneof(
    fc.constantFrom(...VALUES),
    ...(values.length > 0 ? [fc.constantFrom(...values)] : []),
    fc.double({ noNaN: true }),
    fc.string({ maxLength: 8 }),
  );
  const name = fc.constantFrom(...NAMES, ...names);
  const spot = (spots: readonly Spot[], where: number): Spot | undefined => spots[where % Math.max(1, spots.length)];
  const at =
    (act: (spot: Spot, spots: readonly Spot[]) => void) =>
    (where: number): JsonEdit => {
      return (spots) => {
        const found = spot(spots, where);
        if (found) act(found, spots);
      };
    };
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(place, value).map(([where, given]) =>
        at(({ holder, key }) => {
          put(holder, key, structuredClone(given));
        })(where),
      ),
    },
    { weight: 2, arbitrary: place.map(at(take)) },
    {
      weight: 2,
      arbitrary: fc.tuple(place, name, value).map(([where, key, given]) =>
        at(({ holder }) => {
          if (!Array.isArray(holder)) put(holder, key, structuredClone(given));
        })(where),
      ),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(place, name).map(([where, key]) =>
        at((found) => {
          const held = found.holder[found.key] ?? null;
          if (Array.isArray(found.holder)) return;
          take(found);
          put(found.holder, key, held);
        })(where),
      ),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(place, place).map(([where, other]) =>
        at(({ holder, key }, spots) => {
          const from = spot(spots, other);
          if (from) put(holder, key, structuredClone(from.holder[from.key] ?? null));
        })(where),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(place, fc.boolean()).map(([where, inList]) =>
        at(({ holder, key }) => {
          const held = holder[key] ?? null;
          put(holder, key, inList ? [held, held] : { type: held });
        })(where),
      ),
    },
  );
}

export interface JsonWords {
  values?: readonly Json[];
  names?: readonly string[];
}

/** One of the seeds, each JSON, with 1 to 5 values changed. */
export function editedJson(
  seeds: readonly unknown[],
  { values = [], names = [] }: JsonWords = {},
): fc.Arbitrary<unknown> {
  const texts = seeds.map((seed) => JSON.stringify([seed]));
  return fc
    .tuple(fc.constantFrom(...texts), fc.array(jsonEdits(values, names), { minLength: 1, maxLength: 5 }))
    .map(([seed, changes]) => {
      const whole = JSON.parse(seed) as [Json]; // of one value, by the line above
      for (const change of changes) change(spotsIn(whole));
      return whole[0] ?? null;
    });
}

/** As a file; three in four changed in their values, the rest in their bytes. */
export function jsonFiles(seeds: readonly unknown[], words: JsonWords = {}): fc.Arbitrary<Input> {
  const spellings = [
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\u0000",
    "\\",
    "null",
    "1e999",
    '"__proto__":',
    "[".repeat(70),
    '"a":1,"a":2',
  ];
  return fc.oneof(
    { weight: 3, arbitrary: editedJson(seeds, words).map((value) => bytesOf(JSON.stringify(value))) },
    {
      weight: 1,
      arbitrary: editedBytes(
        seeds.map((seed) => bytesOf(JSON.stringify(seed))),
        spellings,
      ),
    },
  );
}

export function bytesOf(text: string): Input {
  return encoder.encode(text);
}
