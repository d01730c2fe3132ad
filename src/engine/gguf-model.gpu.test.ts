/** GGUF files on WebGPU: llama.cpp's values, and blocks that are kept as they are. */
import { afterAll, expect, inject, test } from "vitest";
import { TextGenerator } from "../index";
import { at } from "../testing/at";
import { browserDevice } from "../testing/browser-device";
import { expectClose } from "../testing/compare";
import { expectGolden, F32, greedyRun } from "../testing/golden-run";
import { GGUF_GOLDEN, runGguf } from "../testing/gguf-run";
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
