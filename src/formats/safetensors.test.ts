import { describe, expect, test } from "vitest";
import { WordloomError } from "../errors";
import cases from "../testing/cases/cases.json";
import { concat, joinSafetensors, makeSafetensors } from "../testing/make-safetensors";
import { decodeFloats, type FloatDtype } from "./floats";
import { parseSafetensorsHeader, parseSafetensorsIndex, safetensorsHeaderBytes } from "./safetensors";

const parse = (bytes: Uint8Array, size: number | undefined = bytes.length) => parseSafetensorsHeader(bytes, size);

const text = (content: string) => new TextEncoder().encode(content);

/** The header length alone, then `rest`. */
function withLength(length: bigint, rest: Uint8Array = new Uint8Array(0)): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, length, true);
  return concat([bytes, rest]);
}

const entry = (dtype: string, shape: unknown, offsets: unknown) => ({ dtype, shape, data_offsets: offsets });

const zeros = (count: number) => new Uint8Array(count);

describe("a valid file", () => {
  test("gives each tensor's dtype, shape and place in the file", () => {
    const file = makeSafetensors(
      [
        { name: "a", shape: [2, 3], values: [1, 2, 3, 4, 5, 6] },
        { name: "b", dtype: "BF16", shape: [1], values: [0.5] },
        { name: "c", dtype: "F16", shape: [2], values: [1, 2] },
      ],
      { format: "pt" },
    );
    const { tensors, metadata, dataStart } = parse(file);
    expect(metadata).toEqual({ format: "pt" });
    expect([...tensors.values()]).toEqual([
      { name: "a", dtype: "F32", shape: [2, 3], start: dataStart, end: dataStart + 24 },
      { name: "b", dtype: "BF16", shape: [1], start: dataStart + 24, end: dataStart + 26 },
      { name: "c", dtype: "F16", shape: [2], start: dataStart + 26, end: dataStart + 30 },
    ]);
  });

  test("may be known by its header only, and without its size", () => {
    const file = makeSafetensors([{ name: "a", shape: [2], values: [1, 2] }]);
    const header = file.subarray(0, safetensorsHeaderBytes(file.subarray(0, 8), undefined, "x"));
    expect(parseSafetensorsHeader(header, undefined).tensors.get("a")?.shape).toEqual([2]);
  });

  test("may end its header with blanks, and name tensors with any text", () => {
    const name = 'a"b\\ü {"x": 1}';
    const file = joinSafetensors(JSON.stringify({ [name]: entry("I64", [1], [0, 8]) }) + "   ", [zeros(8)]);
    expect([...parse(file).tensors.keys()]).toEqual([name]);
  });

  test("may hold a dtype that is not known here, which is refused only where it is used", () => {
    const file = joinSafetensors({ a: entry("F3_NEW", [100], [0, 38]) }, [zeros(38)]);
    expect(parse(file).tensors.get("a")).toMatchObject({ dtype: "F3_NEW", shape: [100] });
  });

  test("may hold tensors called __proto__ and constructor", () => {
    const file = joinSafetensors(
      '{"__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"constructor":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
      [zeros(2)],
    );
    expect([...parse(file).tensors.keys()]).toEqual(["__proto__", "constructor"]);
  });
});

describe("case st-odd", () => {
  const odd = cases.find(({ id }) => id === "st-odd") as unknown as {
    input: { hex: string; metadata_only_hex: string };
    expected: { tensors: Record<string, { dtype: FloatDtype; shape: number[]; values: number[] }> };
  };

  test("unaligned, empty and scalar tensors have the values of the case", () => {
    const file = fromHex(odd.input.hex);
    const { tensors } = parse(file);
    expect(tensors.size).toBe(Object.keys(odd.expected.tensors).length);
    for (const [name, expected] of Object.entries(odd.expected.tensors)) {
      const tensor = tensors.get(name);
      expect(tensor).toMatchObject({ dtype: expected.dtype, shape: expected.shape });
      const values = new Float32Array(expected.values.length);
      decodeFloats(expected.dtype, file.subarray(tensor?.start, tensor?.end), values, values.length);
      expect([...values]).toEqual(expected.values);
    }
  });

  test("a file with metadata only has no tensors", () => {
    const { tensors, metadata } = parse(fromHex(odd.input.metadata_only_hex));
    expect(tensors.size).toBe(0);
    expect(metadata).toEqual({ note: "none" });
  });
});

const good = makeSafetensors([{ name: "a", shape: [2], values: [1, 2] }]);

const HOSTILE: [what: string, file: Uint8Array, message: RegExp, size?: number][] = [
  ["nothing", zeros(0), /0 bytes cannot be/],
  ["seven bytes", good.subarray(0, 7), /7 bytes cannot be/],
  ["a web page", text("<!doctype html><html><body>app</body></html>"), /an HTML page, not a safetensors file/],
  ["a web page after a mark and blanks", text("\uFEFF\n  <HTML><body>"), /an HTML page/],
  ["the first eight bytes of a web page", text("<!doctyp"), /an HTML page/],
  [
    "a Git LFS pointer",
    text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"),
    /a Git LFS pointer/,
  ],
  ["other text", text("Entry not found"), /not a safetensors file: a header of \d+ bytes/],
  ["a header of 2^63 bytes", withLength(2n ** 63n), /a header of 9223372036854775808 bytes/],
  ["a header of 100 MB and one byte", withLength(100_000_001n), /over the format's 100000000/],
  ["a header longer than the file", withLength(1000n, zeros(10)), /truncated: 18 bytes.* needs 1008/],
  ["a header of which half was read", good.subarray(0, 30), /truncated: the header needs/, good.length],
  ["an empty header", withLength(0n), /header of 0 bytes/],
  ["a header that is not UTF-8", withLength(4n, Uint8Array.of(0x7b, 0xff, 0xfe, 0x7d)), /not UTF-8/],
  ["a header that is not JSON", joinSafetensors('{"a":'), /not JSON/],
  ["a header that is a list", joinSafetensors("[1, 2]"), /does not begin with/],
  ["a header after a blank", joinSafetensors(" {}"), /does not begin with/],
  ["deep nesting", joinSafetensors('{"a":' + "[".repeat(1e6) + "]".repeat(1e6) + "}"), /more than 3 deep/],
  ["a megabyte of backslashes", joinSafetensors(`{"${"\\\\".repeat(5e5)}":1}`), /not described by an object/],
  ["20001 tensors", joinSafetensors(`{${manyEntries(20_001)}}`), /20001 tensors/],
  [
    "one name twice",
    joinSafetensors(
      '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
      [zeros(2)],
    ),
    /names a twice/,
  ],
  [
    "one shape twice",
    joinSafetensors('{"a":{"dtype":"U8","shape":[2],"shape":[1],"data_offsets":[0,1]}}', [zeros(1)]),
    /names shape twice/,
  ],
  ["an entry that is no object", joinSafetensors({ a: [1] }), /a is not described by an object/],
  ["no dtype", joinSafetensors({ a: entry(7 as unknown as string, [1], [0, 1]) }, [zeros(1)]), /a has no dtype/],
  ["no shape", joinSafetensors({ a: { dtype: "U8", data_offsets: [0, 1] } }, [zeros(1)]), /a has no shape/],
  ["a negative dimension", joinSafetensors({ a: entry("U8", [-1], [0, 1]) }, [zeros(1)]), /no shape of whole numbers/],
  ["a broken dimension", joinSafetensors({ a: entry("U8", [1.5], [0, 1]) }, [zeros(1)]), /no shape of whole numbers/],
  ["a dimension of 2^60", joinSafetensors({ a: entry("U8", [2 ** 60], [0, 1]) }, [zeros(1)]), /no shape of whole/],
  [
    "a product of 2^106",
    joinSafetensors({ a: entry("U8", [2 ** 53 - 1, 2 ** 53 - 1], [0, 1]) }, [zeros(1)]),
    /needs .* bytes, it has 1/,
  ],
  ["nine dimensions", joinSafetensors({ a: entry("U8", Array(9).fill(1), [0, 1]) }, [zeros(1)]), /9 dimensions/],
  ["one offset", joinSafetensors({ a: entry("U8", [1], [0]) }, [zeros(1)]), /no two data_offsets/],
  ["a negative offset", joinSafetensors({ a: entry("U8", [1], [-1, 0]) }, [zeros(1)]), /no two data_offsets/],
  [
    "an end before the begin",
    joinSafetensors({ a: entry("U8", [1], [1, 0]) }, [zeros(1)]),
    /ends \(0\) before it begins/,
  ],
  [
    "a size that does not fit the shape",
    joinSafetensors({ a: entry("F32", [2], [0, 4]) }, [zeros(4)]),
    /F32 \[2\] needs 8 bytes, it has 4/,
  ],
  [
    "two tensors in one place",
    joinSafetensors({ a: entry("U8", [4], [0, 4]), b: entry("U8", [3], [2, 5]) }, [zeros(5)]),
    /b begins at byte \d+, inside tensor a/,
  ],
  [
    "a hole",
    joinSafetensors({ a: entry("U8", [1], [0, 1]), b: entry("U8", [1], [3, 4]) }, [zeros(4)]),
    /2 bytes between tensor a and tensor b/,
  ],
  ["a truncated tensor", good.subarray(0, good.length - 1), /truncated: tensor a ends at byte \d+/],
  [
    "a tensor beyond the end",
    joinSafetensors({ a: entry("U8", [2 ** 40], [0, 2 ** 40]) }, [zeros(1)]),
    /truncated: tensor a ends/,
  ],
  ["bytes after the last tensor", concat([good, zeros(3)]), /describes only/],
  ["metadata that is no text", joinSafetensors({ __metadata__: { a: 1 } }), /__metadata__.a is not a string/],
  ["metadata that is a list", joinSafetensors({ __metadata__: [] }), /__metadata__ is not an object/],
];

function manyEntries(count: number): string {
  return Array.from({ length: count }, (_, i) => `"${i}":0`).join(",");
}

describe("a hostile file", () => {
  test.each(HOSTILE)("%s is refused as file-invalid within 100 ms", (_, file, message, size) => {
    let caught: unknown;
    let elapsedMs = Infinity;
    // The best of three: the machine may be busy with something else for a moment.
    for (let round = 0; round < 3; round++) {
      const started = performance.now();
      try {
        parse(file, size);
      } catch (error) {
        caught = error;
      }
      elapsedMs = Math.min(elapsedMs, performance.now() - started);
    }
    expect(caught).toBeInstanceOf(WordloomError);
    expect(caught).toMatchObject({ code: "file-invalid", message: expect.stringMatching(message) as string });
    expect((caught as WordloomError).message).toContain("model.safetensors");
    expect((caught as WordloomError).message.length).toBeLessThan(600);
    expect(elapsedMs).toBeLessThan(100);
  });
});

describe("an index", () => {
  test("maps tensors to the files beside it", () => {
    const { files } = parseSafetensorsIndex({
      metadata: { total_size: "wrong" },
      weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" },
    });
    expect([...files]).toEqual([
      ["a", "model-00001-of-00002.safetensors"],
      ["b", "model-00002-of-00002.safetensors"],
    ]);
  });

  test.each([
    ["a list", [], /no weight_map/],
    ["nothing", null, /no weight_map/],
    ["no weight_map", { metadata: {} }, /no weight_map/],
    ["an empty weight_map", { weight_map: {} }, /is empty/],
    ["a file in a folder above", { weight_map: { a: "../x.safetensors" } }, /is not a file name/],
    ["a file on a server", { weight_map: { a: "https://x.y/z.safetensors" } }, /is not a file name/],
    ["a file of another kind", { weight_map: { a: "pytorch_model.bin" } }, /is not a file name/],
    ["a number", { weight_map: { a: 1 } }, /is not a file name/],
  ])("with %s is refused", (_, value, message) => {
    expect(() => parseSafetensorsIndex(value)).toThrowError(
      expect.objectContaining({ code: "file-invalid", message: expect.stringMatching(message) as string }),
    );
  });
});

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}
