/** A conversation's keys and values out of the GPU, into a file, and back: one device, the tier "cpu". */
import { afterAll, describe, expect, test } from "vitest";
import { bytesPerPosition } from "../backends/cache-layout";
import { conversationStorage, TextGenerator, type Conversation } from "../index";
import { browserDevice } from "../testing/browser-device";
import { expectClose } from "../testing/compare";
import { F32, gpuBackendOf, greedyRun, referenceBackendOf } from "../testing/golden-run";
import { filesOf } from "../testing/scripted-checkpoint";
import { goldenCasesServed, goldenFilesServed, goldenUrl, servedCheckpoint } from "../testing/served-models";
import type { LoadOptions } from "./options";

const MODELS = ["llama", "lfm2"] as const;
const CHATML =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
const SHORT = { maxNewTokens: 8, ignoreEos: true };

const device = await browserDevice();
const open: TextGenerator[] = [];
afterAll(async () => {
  await Promise.all(open.map((generator) => generator.dispose()));
  device.destroy();
});

async function load(model: (typeof MODELS)[number], options: LoadOptions) {
  const files = await goldenFilesServed(model);
  files.set("tokenizer_config.json", new TextEncoder().encode(JSON.stringify({ chat_template: CHATML })));
  const generator = await TextGenerator.load(filesOf(files), { dtype: "f32", ...options });
  open.push(generator);
  return generator;
}

async function answer(chat: Conversation, text: string, options = {}) {
  const run = chat.send(text, { ...SHORT, ...options });
  const ids: number[] = [];
  for await (const { tokens } of run) ids.push(...tokens.map(({ id }) => id));
  return { ids, usage: (await run.end).usage };
}

describe.each(MODELS)("the golden %s", (model) => {
  test("holds in its cache, in the same order, what the reference holds", async () => {
    const checkpoint = await servedCheckpoint(goldenUrl(model));
    const prompt = (await goldenCasesServed(model))[2]?.ids.slice(0, 20) ?? [];
    const gpu = await gpuBackendOf(checkpoint, F32, { device, tier: "cpu" });
    const reference = await referenceBackendOf(checkpoint, F32);
    for (const backend of [gpu, reference]) await greedyRun(backend, prompt, 4);
    expect(gpu.cacheLayout).toEqual(reference.cacheLayout);
    const [ours, theirs] = [await gpu.exportCache(3, 22), await reference.exportCache(3, 22)];
    expect(ours).toHaveLength(19 * bytesPerPosition(gpu.cacheLayout));
    expectClose(new Float32Array(ours.buffer), new Float32Array(theirs.buffer), { absolute: 1e-4, relative: 1e-4 });
    // In two pieces into a place where other numbers are, it is what it was.
    const whole = await gpu.exportCache(0, 22);
    const [first, second] = [await gpu.exportCache(0, 9), await gpu.exportCache(9, 22)];
    await greedyRun(gpu, prompt.toReversed(), 4);
    await gpu.importCache(0, first);
    await gpu.importCache(9, second);
    expect(await gpu.exportCache(0, 22)).toEqual(whole);
    await Promise.all([gpu.dispose(), reference.dispose()]);
  });

  test.each(["f32", "f16"] as const)("restored, with a cache of %s, goes on as a fresh run does", async (kvDtype) => {
    const here = { device, kvDtype, internal: { tier: "cpu" } };
    const chat = (await load(model, here)).conversation({ system: "Be kind." });
    await answer(chat, "Once");
    const { usage } = await answer(chat, "And then?");
    const saved = await chat.toBlob();
    const expected = await answer(chat.fork(), "So?", { reusePrefix: false });
    const restored = await (await load(model, here)).restore(saved);
    expect(restored.messages).toEqual(chat.messages);
    const went = await answer(restored, "So?");
    expect(went.ids).toEqual(expected.ids);
    expect(went.usage.promptTokens).toBe(expected.usage.promptTokens);
    // Random bytes need not come back as they were, but everything up to the last answer does.
    expect(went.usage.cachedTokens).toBeGreaterThanOrEqual(usage.promptTokens);
  });
});

test("saved by name from a worker's engine, it is listed, restored and deleted", async () => {
  const generator = await load("llama", { kvDtype: "f32" });
  expect(generator.info.worker).toBe(true);
  const chat = generator.conversation();
  const { usage } = await answer(chat, "Once");
  await chat.save("a test's");
  const listed = await conversationStorage.list();
  expect(listed.map(({ name }) => name)).toEqual(["a test's"]);
  expect(listed[0]?.bytes).toBe((await chat.toBlob()).size);
  const expected = await answer(chat.fork(), "So?", { reusePrefix: false });
  await generator.generate("Something else.", SHORT).end;
  const restored = await answer(await generator.restore("a test's"), "So?");
  expect(restored.ids).toEqual(expected.ids);
  expect(restored.usage.cachedTokens).toBeGreaterThanOrEqual(usage.promptTokens);
  await conversationStorage.delete("a test's");
  expect(await conversationStorage.list()).toEqual([]);
  await expect(generator.restore("a test's")).rejects.toMatchObject({ code: "option-invalid" });
}, 120_000);
