/** A real worker in Chromium. The model runs on the reference backend: here it is the thread that is tried. */
import { expect, test } from "vitest";
import { TextGenerator } from "../index";
import { chain, filesOf, scriptedCheckpoint } from "../testing/scripted-checkpoint";

const PIECES = ["<|end|>", "<|go|>", ..."abcdefghij"];
const model = filesOf(scriptedCheckpoint({ pieces: PIECES, size: 32, table: chain(PIECES.length) }));

test("a model is loaded and answers in a dedicated worker, which can be stopped and ended", async () => {
  const phases = new Set<string>();
  const generator = await TextGenerator.load(model, {
    backend: "reference",
    onProgress: ({ phase }) => phases.add(phase),
  });
  expect(generator.info).toMatchObject({ worker: true, backend: "reference" });
  expect([...phases]).toEqual(["config", "device", "tokenizer", "weights", "warmup"]);
  expect(await generator.generate("a").text()).toBe("bcdefghij");

  const controller = new AbortController();
  const run = generator.generate("a", { maxNewTokens: 400, ignoreEos: true, signal: controller.signal });
  const reading = (async () => {
    for await (const { tokens } of run) if (tokens.length > 0) controller.abort("enough");
  })();
  await expect(reading).rejects.toBe("enough");
  const end = await run.end;
  expect(end.finishReason).toBe("abort");
  expect(end.usage.completionTokens).toBeLessThan(400);

  await generator.dispose();
  await expect(generator.generate("a").text()).rejects.toMatchObject({ code: "disposed" });
});

test("a failure in the worker arrives with its code", async () => {
  const files = model.filter(({ name }) => name !== "tokenizer.json");
  await expect(TextGenerator.load(files, { backend: "reference" })).rejects.toMatchObject({
    code: "model-not-found",
    message: expect.stringContaining("tokenizer.json"),
  });
});
