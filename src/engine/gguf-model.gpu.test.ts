/** GGUF files on WebGPU: llama.cpp's values, and blocks that are kept as they are. */
import { afterAll, describe, expect, inject, test } from "vitest";
import { TextGenerator } from "../index";
import { at } from "../testing/at";
import { browserDevice } from "../testing/browser-device";
import { expectClose } from "../testing/compare";
import { expectGolden, F32, greedyRun } from "../testing/golden-run";
import { GGUF_GOLDEN, runGguf } from "../testing/gguf-run";
import { kModelGguf, MIXTURE } from "../testing/k-model";
import { goldenCasesServed, goldenUrl, servedBytes } from "../testing/served-models";

const device = await browserDevice();
afterAll(() => device.destroy());

test.each(GGUF_GOLDEN)(
  "the golden %s from its GGUF file gives the golden ids and log-probabilities",
  async (model) => {
    const bytes = await servedBytes(`${goldenUrl(model)}model-F32.gguf`);
    const { backend } = await runGguf(bytes, F32, { device, tier: "cpu" });
    await expectGolden(backend, await goldenCasesServed(model));
    await backend.dispose();
  },
  120_000,
);

const storiesUrl = inject("storiesUrl");
if (storiesUrl === "") console.warn("\n*** NOT TESTED in the browser: stories260k from GGUF files, which are absent\n");

test.runIf(storiesUrl !== "").each([
  ["Q8_0", "q8"],
  ["Q4_0", "q4"],
  ["F16", "f16"],
] as const)(
  "weights of %s, kept as they are in %s, give what the reference makes of their values",
  async (type, dtype) => {
    const bytes = await servedBytes(`${storiesUrl}stories260K-${type}.gguf`);
    const held = { dtype, kvDtype: "f32" } as const;
    const onGpu = await runGguf(bytes, held, { device, tier: "cpu" });
    const reference = await runGguf(bytes, held);
    const prompt = [1, 403, 407, 261];
    const [ours, theirs] = [await greedyRun(onGpu.backend, prompt, 8), await greedyRun(reference.backend, prompt, 8)];
    expectClose(ours.logprobs, theirs.logprobs, { absolute: 1e-3 });
    await onGpu.backend.dispose();
  },
  120_000,
);

test.runIf(storiesUrl !== "")(
  "where nothing is asked for, a Q4_0 file is held as q4, and its blocks as they are",
  async () => {
    const file = new File([await servedBytes(`${storiesUrl}stories260K-Q4_0.gguf`)], "stories260K-Q4_0.gguf");
    const options = { device, internal: { tier: "cpu" } } as const;
    const plan = await TextGenerator.plan([file], options);
    const generator = await TextGenerator.load([file], options);
    const { dtype, reason, bytes } = generator.info;
    expect(dtype).toBe("q4");
    expect(reason).toContain("weights as q4: as most of them are in the file");
    expect(reason).toMatch(
      /the file has Q4_0 \(31 tensors\), F16 \(5 tensors\), F32 \(11 tensors\); Q4_0 is kept as it is/,
    );
    expect({ ...bytes, total: plan.bytes.total }).toEqual(plan.bytes);
    const run = generator.generate("Once upon a time", { maxNewTokens: 8 });
    expect((await run.text()).length).toBeGreaterThan(8);
    expect(at(plan.reasons, 0)).toContain("Q4_0 is kept as it is");
    await generator.dispose();
  },
  120_000,
);

describe("ggml's K types, each matrix in its own", () => {
  test("a mixture, also within q, k and v, gives what the reference makes of ggml's values", async () => {
    const bytes = kModelGguf(MIXTURE);
    const onGpu = await runGguf(bytes, { dtype: "auto", kvDtype: "f32" }, { device, tier: "cpu" });
    const reference = await runGguf(bytes, F32);
    const prompt = [1, 40, 7, 66, 12];
    const [ours, theirs] = [await greedyRun(onGpu.backend, prompt, 8), await greedyRun(reference.backend, prompt, 8)];
    expectClose(ours.logprobs, theirs.logprobs, { absolute: 1e-4 });
    expect(ours.ids).toEqual(theirs.ids);
    await onGpu.backend.dispose();
  }, 120_000);

  test("are what is taken where nothing is asked for; the plan knows it to the byte, and info says so", async () => {
    // Floats are no format of blocks: they become q8, and so do a gate and an up of two types.
    const types = (name: string) => (/^blk\.1\.attn_output/.test(name) ? "F32" : MIXTURE(name));
    const unlike = (name: string) => (name === "blk.0.ffn_up.weight" ? "Q5_K" : types(name));
    const file = new File([kModelGguf(unlike)], "mixture-Q4_K_M.gguf");
    const options = { device, internal: { tier: "cpu" } } as const;
    const plan = await TextGenerator.plan([file], options);
    const generator = await TextGenerator.load([file], options);
    const { dtype, formats, reason, bytes } = generator.info;
    expect({ dtype, formats }).toEqual({ dtype: "q4_k", formats: ["q4_k", "q8", "q5_k", "q6_k"] });
    expect({ ...bytes, total: plan.bytes.total }).toEqual(plan.bytes);
    expect(reason).toContain("Q4_K, Q5_K, Q6_K are kept as they are, matrices of other types become q8");
    await generator.dispose();
    const asked = await TextGenerator.load([file], { ...options, dtype: "q4" });
    expect(asked.info).toMatchObject({ dtype: "q4", formats: ["q4"] });
    await asked.dispose();
  }, 120_000);
});
