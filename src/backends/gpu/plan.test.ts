import { describe, expect, test } from "vitest";
import type { WordloomErrorCode } from "../../errors";
import { tinyModel } from "../../testing/tiny-models";
import type { HeldDtype, WeightDtype } from "../backend";
import { makePlan, type PlanRequest } from "./plan";

const MIB = 2 ** 20;
const { spec } = tinyModel({ kind: "llama", layers: 2, hidden: 64, heads: 4, keyValueHeads: 2, context: 4096 });
// One position: 2 layers × (keys + values) × 2 heads × 16 = 128 numbers.
const bytesOf: Record<WeightDtype, number> = { f32: 40 * MIB, f16: 20 * MIB, q8: 11 * MIB, q4: 6 * MIB };
const ask: PlanRequest = { dtype: "auto", kvDtype: "auto", contextLength: undefined, memoryBudgetBytes: undefined };
/** Each matrix as the file holds it, most of them in the first of these. */
const published = (mib: number, ...formats: [HeldDtype, ...HeldDtype[]]): Partial<PlanRequest> => ({
  published: { dtype: formats[0], formats, formatOf: () => formats[0], bytes: mib * MIB },
});
const plan = (request: Partial<PlanRequest>, scale = 1, maxBindingBytes = 128 * MIB) =>
  makePlan(spec, { ...ask, ...request }, (dtype) => bytesOf[dtype] * scale, maxBindingBytes);

describe("what is held how", () => {
  test.each<[string, Partial<PlanRequest>, number, object]>([
    ["q8 with an f16 cache by default", {}, 1, { dtype: "q8", kvDtype: "f16", contextLength: 4096 }],
    ["q4 where q8 would take more than 2 GiB", {}, 200, { dtype: "q4", kvDtype: "f16" }],
    ["q4 where q8 is above the budget", { memoryBudgetBytes: 8 * MIB }, 1, { dtype: "q4" }],
    ["q4 where most of the file's weights are that already", published(6, "q4"), 1, { dtype: "q4" }],
    ["q8 where they are q8, and fit", published(11, "q8"), 1, { dtype: "q8" }],
    ["q4 where they are q8, and do not", published(2200, "q8"), 200, { dtype: "q4", formats: ["q4"] }],
    ["as in the file", published(7, "q4_k", "q6_k", "q8"), 1, { dtype: "q4_k", formats: ["q4_k", "q6_k", "q8"] }],
    ["as in the file also beyond 2 GiB, where q4 takes hardly less", published(2100, "q4_k"), 320, { dtype: "q4_k" }],
    ["q4 where it takes much less", published(2100, "q6_k"), 200, { dtype: "q4" }],
    [
      "q4 where what is in the file is above the budget",
      { ...published(7, "q4_k"), memoryBudgetBytes: 6.5 * MIB },
      1,
      { dtype: "q4" },
    ],
    ["what is asked for, whatever the file has", { ...published(7, "q4_k"), dtype: "q8" }, 1, { formats: ["q8"] }],
    ["f32 weights go with an f32 cache", { dtype: "f32" }, 1, { dtype: "f32", kvDtype: "f32" }],
    [
      "what is asked for",
      { dtype: "f16", kvDtype: "f32", contextLength: 100 },
      1,
      { dtype: "f16", kvDtype: "f32", contextLength: 100 },
    ],
    [
      "as many positions as the budget leaves",
      { memoryBudgetBytes: 11 * MIB + 256 * 1000 },
      1,
      { dtype: "q8", contextLength: 1000 },
    ],
  ])("%s", (_, request, scale, expected) => expect(plan(request, scale)).toMatchObject(expected));

  test("as many positions as one binding of a layer's keys takes", () => {
    // A position of one layer's keys: 2 heads × 16 × 2 bytes.
    expect(plan({}, 1, 64 * 300)).toMatchObject({ contextLength: 300 });
  });

  test("as many positions as one binding of rotations takes, where the heads' keys are smaller", () => {
    const { spec } = tinyModel({ kind: "llama", hidden: 64, heads: 4, keyValueHeads: 1, context: 4096 });
    // A position: keys of 16 × 2 bytes a layer; 8 pairs of a cosine and a sine.
    expect(makePlan(spec, { ...ask }, (dtype) => bytesOf[dtype], 64 * 300)).toMatchObject({ contextLength: 300 });
  });

  test("and says why, in numbers", () => {
    expect(plan(published(6, "q4")).reason).toMatch(/^weights as q4: as most of them are in the file, 6.0 MiB; /);
    expect(plan(published(7, "q4_k", "q6_k", "q8")).reason).toMatch(
      /^weights as q4_k: as most of them are in the file, others as q6_k and q8, 7.0 MiB; KV cache as f16: goes with q4_k /,
    );
    expect(plan({}).reason).toBe(
      "weights as q8: 11.0 MiB, hardly to be told from the original; KV cache as f16: goes with q8 weights; 4096 positions: the model's own",
    );
  });
});

describe("what cannot be is refused", () => {
  test.each<[string, Partial<PlanRequest>, WordloomErrorCode, string]>([
    [
      "more positions than the model was made for",
      { contextLength: 5000 },
      "option-invalid",
      "5000 positions; this model was made for 4096",
    ],
    [
      "weights above the budget",
      { dtype: "f32", memoryBudgetBytes: 30 * MIB },
      "out-of-memory",
      "40.0 MiB as f32; the budget is 30.0 MiB",
    ],
    [
      "asked positions above the budget",
      { contextLength: 4096, memoryBudgetBytes: 11 * MIB + 1000 },
      "out-of-memory",
      "4096 positions take 1.0 MiB",
    ],
    ["no room for one position", { memoryBudgetBytes: 11 * MIB + 10 }, "out-of-memory", "no room for a KV cache"],
  ])("%s", (_, request, code, words) => {
    expect(() => plan(request)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(words) }));
  });

  test("asked positions beyond one binding", () => {
    expect(() => plan({ contextLength: 400 }, 1, 64 * 300)).toThrow(expect.objectContaining({ code: "device-limit" }));
  });
});
