/** The model that comes with the page, as the page loads it: by address, in a worker, with everything chosen for it. */
import { expect, test } from "vitest";
import { TextGenerator } from "../index";
import { BUNDLED_URL } from "../testing/served-models";

test("the bundled model loads in a worker and writes a story", async () => {
  const phases = new Set<string>();
  const generator = await TextGenerator.load(BUNDLED_URL, { onProgress: ({ phase }) => phases.add(phase) });
  expect(generator.info).toMatchObject({
    ...{ backend: "webgpu", worker: true, modelType: "llama", dtype: "q8", kvDtype: "f16", contextLength: 512 },
    ...{ layerCount: 6, vocabSize: 4096, parameterCount: 5_475_584 },
  });
  expect([...phases]).toEqual(["config", "device", "tokenizer", "weights", "warmup"]);

  const run = generator.generate("Once upon a time", { maxNewTokens: 60 });
  const text = await run.text();
  const { usage, timings, finishReason } = await run.end;
  console.log(
    `${generator.info.adapter}, tier ${generator.info.tier}: prefill ${timings.prefillTokensPerSecond.toFixed(1)}, ` +
      `decode ${timings.decodeTokensPerSecond.toFixed(1)} tokens/s\nOnce upon a time${text}`,
  );
  expect(finishReason).toBe(usage.completionTokens === 60 ? "length" : "stop");
  // Words of English with ends of sentences between them, and not one word over and over.
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  expect(words.length).toBeGreaterThan(30);
  expect(new Set(words).size).toBeGreaterThan(15);
  expect(words).toContain("the");
  expect(text).toMatch(/\. [A-Z"]/);
  await generator.dispose();
}, 120_000);
