/** Scaled RoPE against transformers: testing/golden/rope.json, made by testing/golden/make_golden.py. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { expectClose } from "../testing/compare";
import { ConfigReader } from "./config-reader";
import { readRope, readRopeOfTypes, type RopeDefaults } from "./rope-config";
import { frequenciesFor, ropeTable } from "./rope-frequencies";

interface RopeCase {
  keys: { rope_scaling: Record<string, unknown> | null; rope_theta: number; max_position_embeddings: number };
  inverse_frequencies: number[];
  magnitude: number;
  /** For sequences longer than the original context. */
  long?: number[];
}

const CASES = (
  JSON.parse(readFileSync(new URL("../testing/golden/rope.json", import.meta.url), "utf8")) as { cases: RopeCase[] }
).cases; // our own file

const SIZES = { headDim: 24, contextLength: 131072 };
const rope = (keys: Record<string, unknown>, defaults: RopeDefaults = {}, sizes = SIZES) =>
  readRope(ConfigReader.from(keys, "config.json"), sizes, defaults);

describe.each(CASES)("rope_scaling $keys.rope_scaling", ({ keys, inverse_frequencies, magnitude, long }) => {
  const spec = rope({ rope_scaling: keys.rope_scaling });

  test("gives the frequencies and the factor of transformers", () => {
    expectClose(spec.inverseFrequencies, inverse_frequencies, { relative: 1e-14 });
    expectClose([spec.magnitude ?? 1], [magnitude], { relative: 1e-14 });
  });

  test("gives others for a KV cache beyond the original context where there are long factors, and only there", () => {
    expect(spec.long === undefined).toBe(long === undefined);
    expectClose(frequenciesFor(spec, 4096), inverse_frequencies, { relative: 1e-14 });
    expectClose(frequenciesFor(spec, 4097), long ?? inverse_frequencies, { relative: 1e-14 });
  });

  test("says the same in rope_parameters", () => {
    const { rope_scaling, rope_theta } = keys;
    expect(rope({ rope_parameters: { ...rope_scaling, rope_theta } })).toEqual(spec);
  });
});

test("the cases cover every type", () => {
  const types = CASES.map(({ keys }) => keys.rope_scaling?.["rope_type"] ?? "default");
  expect([...new Set(types)]).toEqual(["default", "linear", "dynamic", "llama3", "yarn", "longrope"]);
});

describe("Phi-3's first files", () => {
  const factors = { short_factor: Array(12).fill(1.5), long_factor: Array(12).fill(3) };

  test.each(["su", "yarn", "longrope"])("call it %s, and mean LongRoPE", (type) => {
    const spec = rope({ rope_scaling: { type, ...factors }, original_max_position_embeddings: 4096 });
    expect(spec.long?.beyond).toBe(4096);
    expect(spec.inverseFrequencies[0]).toBe(1 / 1.5);
    expectClose([spec.magnitude ?? 1], [Math.sqrt(1 + Math.log(32) / Math.log(4096))], { relative: 1e-15 });
  });

  test("the table of a long cache has the long factors, and both have the magnitude", () => {
    const original = { original_max_position_embeddings: 4 };
    const spec = rope({ rope_scaling: { type: "su", ...factors }, ...original }, {}, { ...SIZES, contextLength: 8 });
    const magnitude = spec.magnitude ?? NaN;
    expect(ropeTable(spec, 4).cos[12]).toBe(Math.fround(magnitude * Math.cos(1 / 1.5)));
    expect(ropeTable(spec, 5).sin[12]).toBe(Math.fround(magnitude * Math.sin(1 / 3)));
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      "one factor too few",
      { ...factors, short_factor: Array(11).fill(1) },
      /short_factor is .*11 entries; 12 are expected/,
    ],
    ["a factor of 0", { ...factors, long_factor: Array(12).fill(0) }, /long_factor is 0/],
    ["no long factors", { short_factor: factors.short_factor }, /long_factor is null; 12 factors are expected/],
  ])("%s is refused", (_, changed, message) => {
    expect(() => rope({ rope_scaling: { type: "longrope", ...changed } })).toThrow(message);
  });
});

describe("a part of each head", () => {
  const share = (rotaryFactor: number, headDim = 80) => rope({}, { rotaryFactor }, { ...SIZES, headDim });

  test("has frequencies of its own width", () => {
    expect(share(0.4).inverseFrequencies.length).toBe(16);
    expectClose(share(0.4).inverseFrequencies.slice(1, 2), [10000 ** (-2 / 32)], { relative: 1e-15 });
  });

  test("is said inside or outside of the object, under either name", () => {
    const keys = ["rotary_emb_base", "rotary_pct"] as const;
    const defaults = { rotaryFactor: 1, keys };
    const half = rope({ rope_parameters: { partial_rotary_factor: 0.5, rope_theta: 500 } }, defaults);
    expect(half.inverseFrequencies.length).toBe(6);
    expect(rope({ rotary_pct: 0.5, rotary_emb_base: 500 }, defaults)).toEqual(half);
  });

  test("that is odd, or nothing, is refused with its numbers", () => {
    expect(() => share(0.4, 18)).toThrow("head_dim is 18; 0.4 of that is 7; rotary embedding needs an even number");
    expect(() => share(0, 16)).toThrow("0 of that is 0");
  });

  test("is refused by name where the architecture turns whole heads", () => {
    expect(() => rope({ partial_rotary_factor: 0.5 })).toThrow("partial_rotary_factor is 0.5; supported: 1");
  });
});

describe("a rope for each type of layer", () => {
  const read = (keys: Record<string, unknown>) => {
    const config = ConfigReader.from(keys, "config.json");
    const ropes = readRopeOfTypes(config, SIZES, {
      full_attention: { theta: 1e6, key: "rope_theta", scaled: true },
      sliding_attention: { theta: 10000, key: "rope_local_base_freq", scaled: false },
    });
    config.finish();
    return ropes;
  };
  const linear = { rope_type: "linear", factor: 8 };

  test("is the same in both spellings, and scaling is the full layers' alone", () => {
    const older = read({ rope_theta: 1e6, rope_local_base_freq: 5000, rope_scaling: linear });
    const newer = read({
      rope_parameters: {
        full_attention: { ...linear, rope_theta: 1e6 },
        sliding_attention: { rope_type: "default", rope_theta: 5000 },
      },
    });
    expect(newer).toEqual(older);
    expect(older.full_attention.inverseFrequencies[0]).toBe(1 / 8);
    expect(older.sliding_attention.inverseFrequencies[0]).toBe(1);
    expectClose(older.sliding_attention.inverseFrequencies.slice(1, 2), [5000 ** (-1 / 12)], { relative: 1e-15 });
  });

  test("an object of one rope, or for another type of layer, is refused by name", () => {
    expect(() => read({ rope_parameters: linear })).toThrow(/rope_parameters: rope_type is "linear"/);
    expect(() => read({ rope_parameters: { chunked_attention: linear } })).toThrow(/chunked_attention is/);
    expect(() => rope({ rope_parameters: { full_attention: linear } })).toThrow(/full_attention is/);
  });
});
