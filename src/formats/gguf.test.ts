import { describe, expect, test } from "vitest";
import { WordloomError } from "../errors";
import { caseOf } from "../testing/cases/case-file";
import { headerOf } from "../testing/edit-gguf";
import { f32Tensor, type MadeGguf, makeGguf } from "../testing/make-gguf";
import { MAX_STRING_BYTES, parseGgufHeader } from "./gguf";

const ARCHITECTURE = ["general.architecture", ["string", "llama"]] as const;

/** Of this process's own work: other programs on the machine do not count. */
function millisecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** What refusing these bytes says; fails where they are taken, and where it takes long. */
function refusal(bytes: Uint8Array, sizeBytes: number | undefined = bytes.length): WordloomError {
  const before = process.cpuUsage();
  try {
    const header = parseGgufHeader(bytes, sizeBytes, "x.gguf");
    throw new Error(`taken: ${JSON.stringify(header)}`);
  } catch (error) {
    if (!(error instanceof WordloomError)) throw error;
    expect(millisecondsSince(before)).toBeLessThan(100);
    return error;
  }
}

describe("what stands before the tensors", () => {
  const values: MadeGguf = {
    metadata: [
      ARCHITECTURE,
      ["a.u8", ["u8", 255]],
      ["a.i8", ["i8", -1]],
      ["a.u16", ["u16", 65535]],
      ["a.i16", ["i16", -2]],
      ["a.u32", ["u32", 4294967295]],
      ["a.i32", ["i32", -3]],
      ["a.f32", ["f32", 0.5]],
      ["a.bool", ["bool", 1]],
      ["a.u64", ["u64", 2 ** 40]],
      ["a.text", ["string", "\ufeffgrüße, 語"]],
      ["a.texts", ["array", ["string", ["", "▁a", "long enough that the decoder takes it: ≥ 32 bytes"]]]],
      ["a.numbers", ["array", ["f32", [1.5, -2]]]],
      ["a.ids", ["array", ["i32", [1, -1]]]],
      ["a.flags", ["array", ["bool", [1, 0]]]],
      ["a.large", ["array", ["u64", [2 ** 33]]]],
      ["a.none", ["array", ["string", []]]],
      [
        "a.nested",
        [
          "array",
          [
            "array",
            [
              ["i32", [1]],
              ["i32", []],
            ],
          ],
        ] as never,
      ], // the type cannot say it; written as it is
    ],
    tensors: [f32Tensor("t", [2, 3], [0, 1, 2, 3, 4, 5]), f32Tensor("v", [1], [7])],
  };

  test.each([2, 3])("is read in version %i", (version) => {
    const bytes = makeGguf({ ...values, version });
    const header = headerOf(bytes);
    expect(Object.fromEntries(header.metadata)).toEqual({
      ...{ "general.architecture": "llama", "a.u8": 255, "a.i8": -1, "a.u16": 65535, "a.i16": -2 },
      ...{ "a.u32": 4294967295, "a.i32": -3, "a.f32": 0.5, "a.bool": true, "a.u64": 2 ** 40 },
      ...{ "a.text": "\ufeffgrüße, 語", "a.numbers": Float32Array.of(1.5, -2), "a.ids": Int32Array.of(1, -1) },
      "a.texts": ["", "▁a", "long enough that the decoder takes it: ≥ 32 bytes"],
      ...{ "a.flags": [true, false], "a.large": Float64Array.of(2 ** 33), "a.none": [] },
      "a.nested": [Int32Array.of(1), Int32Array.of()],
    });
    expect([...header.tensors.values()]).toEqual([
      { name: "t", dtype: "F32", shape: [2, 3], start: header.dataStart, end: header.dataStart + 24 },
      { name: "v", dtype: "F32", shape: [1], start: header.dataStart + 32, end: header.dataStart + 36 },
    ]);
    expect(header.dataStart % 32).toBe(0);
  });

  test("from any beginning of it, more bytes are asked for, and never more than it has", () => {
    const bytes = makeGguf(values);
    const { dataStart } = headerOf(bytes);
    for (let length = 0; length < bytes.length; length++) {
      for (const size of [bytes.length, undefined]) {
        const header = parseGgufHeader(bytes.subarray(0, length), size);
        if (!("neededBytes" in header)) expect(header.dataStart).toBe(dataStart);
        else {
          expect(header.neededBytes).toBeGreaterThan(length);
          expect(header.neededBytes).toBeLessThanOrEqual(Math.max(dataStart, 64));
        }
      }
    }
  });

  test("a file that ends anywhere inside it is refused", () => {
    const bytes = makeGguf(values);
    const { dataStart } = headerOf(bytes);
    for (let length = 0; length < dataStart; length++) {
      expect(refusal(bytes.subarray(0, length))).toMatchObject({ code: "file-invalid" });
    }
  });

  test("its own alignment counts", () => {
    const bytes = makeGguf({
      metadata: [ARCHITECTURE, ["general.alignment", ["u32", 256]]],
      tensors: [f32Tensor("t", [2], [1, 2])],
      alignment: 256,
    });
    expect(headerOf(bytes).dataStart).toBe(256);
  });
});

describe("gguf-refuse", () => {
  const { input } = caseOf<Record<string, string>, unknown>("gguf-refuse");
  const bytesOf = (name: string) => Uint8Array.from(input[name]?.match(/../g) ?? [], (hex) => parseInt(hex, 16));

  test.each([
    ["big_endian_hex", "model-unsupported", "big-endian"],
    ["alignment_0_hex", "file-invalid", "general.alignment is 0"],
    ["alignment_24_hex", "file-invalid", "general.alignment is 24"],
    ["five_dims_hex", "file-invalid", "5 dimensions"],
    ["n_dims_max_hex", "file-invalid", "4294967295 dimensions"],
    ["size_overflow_hex", "file-invalid", /dimension|elements/],
    ["string_2e62_hex", "file-invalid", "1 metadata keys need 37 bytes"],
    ["array_2e40_hex", "file-invalid", "1099511627776 items of x"],
    ["tensor_count_2e63_hex", "file-invalid", "9223372036854776000 tensors"],
    ["type_99_hex", "model-unsupported", "type 99"],
    ["offset_past_end_hex", "file-invalid", "truncated: tensor t ends at byte"],
    ["duplicate_key_hex", "file-invalid", "the metadata key a.b is there twice"],
    ["duplicate_tensor_hex", "file-invalid", "tensor t is there twice"],
    ["version_1_hex", "model-unsupported", "version 1"],
    ["zero_dim_hex", "file-invalid", "a dimension of 0"],
    ["empty_hex", "file-invalid", "the file has 0"],
    ["magic_only_hex", "file-invalid", "the file has 4"],
    ["wrong_magic_hex", "file-invalid", "47 47 4d 4c"],
  ])("%s is %s", (name, code, message) => {
    expect(input[name]).toBeDefined();
    const error = refusal(bytesOf(name));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  test("no case is left out", () => expect(Object.keys(input)).toHaveLength(18));
});

describe("hostile files", () => {
  const good = f32Tensor("t", [2], [1, 2]);
  const withBytes = (bytes: Uint8Array, changes: Readonly<Record<number, number>>) => {
    const changed = bytes.slice();
    for (const [at, byte] of Object.entries(changes)) changed[Number(at)] = byte;
    return changed;
  };

  test.each<[string, Uint8Array, string]>([
    ["a web page", new TextEncoder().encode("<!doctype html><title>Not found"), "an HTML page"],
    [
      "a Git LFS pointer",
      new TextEncoder().encode("version https://git-lfs.github.com/spec/v1\noid"),
      "a Git LFS pointer",
    ],
    [
      "a key that is not UTF-8",
      withBytes(makeGguf({ metadata: [ARCHITECTURE] }), { 33: 0xff }),
      "a metadata key (20 bytes) is not UTF-8",
    ],
    [
      "a text cut inside a character",
      withBytes(makeGguf({ metadata: [["k", ["string", "é"]]] }), { 46: 0x41 }),
      "k (2 bytes) is not UTF-8",
    ],
    [
      "an unknown type of value",
      withBytes(makeGguf({ metadata: [["k", ["u32", 1]]] }), { 33: 13 }),
      "k is of the unknown type 13",
    ],
    [
      "a text beyond the end of the file",
      withBytes(makeGguf({ metadata: [["k", ["string", "abc"]]] }), { 39: 1 }),
      "truncated: byte 65584 of its header is needed",
    ],
    [
      "a text of 2^62 bytes",
      withBytes(makeGguf({ metadata: [["k", ["string", "abc"]]] }), { 44: 0x40 }),
      "k is a text of 4611686018427388000 bytes",
    ],
    [
      "a character written in too many bytes",
      makeGguf({ metadata: [["k", ["string", "éa"]]] }).map((byte, at) => (at === 45 ? 0xc1 : byte)),
      "k (3 bytes) is not UTF-8",
    ],
    [
      "half a character",
      makeGguf({ metadata: [["k", ["string", "語"]]] }).map((byte, at) => (at === 45 ? 0xed : at === 46 ? 0xa0 : byte)),
      "k (3 bytes) is not UTF-8",
    ],
    ["a boolean of 2", makeGguf({ metadata: [["k", ["bool", 2]]] }), "k should be true or false, its byte is 2"],
    [
      "an alignment that is a text",
      makeGguf({ metadata: [["general.alignment", ["string", "32"]]] }),
      "general.alignment is 32",
    ],
    [
      "a tensor inside another",
      makeGguf({ metadata: [], tensors: [f32Tensor("a", [16], Array(16).fill(0)), { ...good, offset: 32 }] }),
      "tensor t begins at byte",
    ],
    [
      "a tensor that begins between two steps of alignment",
      makeGguf({ metadata: [], tensors: [{ ...good, offset: 4 }] }),
      "not aligned to 32",
    ],
    [
      "rows that are no whole blocks",
      makeGguf({ metadata: [], tensors: [{ ...good, type: 12 }] }),
      "rows of 2 do not divide into blocks of 256 (Q4_K)",
    ],
    ["a tensor without dimensions", makeGguf({ metadata: [], tensors: [{ ...good, shape: [] }] }), "0 dimensions"],
    [
      "a tensor's name of 300 bytes",
      makeGguf({ metadata: [], tensors: [{ ...good, name: "n".repeat(300) }] }),
      "300 bytes; at most 255",
    ],
  ])("%s", (_, bytes, message) => {
    const error = refusal(bytes);
    expect(error.code).toBe("file-invalid");
    expect(error.message).toMatch(new RegExp(message.replace(/[()[\]]/g, "\\$&")));
  });

  test("arrays inside arrays end at a depth of two", () => {
    const nested = (depth: number): unknown => (depth === 0 ? ["i32", [1]] : ["array", [nested(depth - 1)]]);
    expect(refusal(makeGguf({ metadata: [["k", ["array", nested(2)] as never]] })).message).toMatch(/arrays 3 deep/);
    // As deep as a file can say in 100 kB: every level is 12 bytes.
    expect(refusal(makeGguf({ metadata: [["k", ["array", nested(2000)] as never]] })).message).toMatch(/arrays 3 deep/);
  });

  test("where the size is unknown, a lying length is refused by the limits, or asks for no more than they allow", () => {
    const lying = (length: number) => {
      const bytes = makeGguf({ metadata: [["k", ["string", "abc"]]] });
      new DataView(bytes.buffer).setBigUint64(37, BigInt(length), true);
      return parseGgufHeader(bytes, undefined);
    };
    expect(lying(MAX_STRING_BYTES)).toEqual({ neededBytes: 45 + MAX_STRING_BYTES });
    expect(() => lying(MAX_STRING_BYTES + 1)).toThrow(/at most 4194304/);
  });

  test("a vocabulary of 262,144 pieces is read in two seconds", () => {
    const pieces = Array.from({ length: 262_144 }, (_, id) => `▁piece${id}`);
    const bytes = makeGguf({
      metadata: [
        ["tokenizer.ggml.tokens", ["array", ["string", pieces]]],
        ["tokenizer.ggml.scores", ["array", ["f32", pieces.map((_, id) => -id)]]],
      ],
    });
    const before = process.cpuUsage();
    const { metadata } = headerOf(bytes);
    expect(millisecondsSince(before)).toBeLessThan(2000);
    expect(String(metadata.get("tokenizer.ggml.tokens"))).toBe(String(pieces));
  }, 60_000);
});
