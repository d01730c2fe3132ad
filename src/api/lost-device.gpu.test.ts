/**
 * A device that is lost three times is replaced three times; the fourth is the end. All other moments are in
 * lost-device.gpu.long.test.ts. Tier "cpu", the golden llama.
 */
import { afterAll, expect, test, vi } from "vitest";
import { TextGenerator, type GenerateOptions, type Recovery } from "../index";
import { browserDevice } from "../testing/browser-device";
import { countLiveBuffers, loseAfter, newest, statesOf, watchDevices } from "../testing/losing-devices";
import { goldenCasesServed, goldenUrl } from "../testing/served-models";

const OPTIONS = { dtype: "f32", kvDtype: "f32", worker: false, internal: { tier: "cpu", prefillChunk: 16 } } as const;
const SEEDED: GenerateOptions = { temperature: 1, seed: 5, repetitionPenalty: 1.2, frequencyPenalty: 0.4 };

const device = await browserDevice();
afterAll(() => device.destroy());

test("an answer is the undisturbed one after each of three lost devices, and the fourth ends in device-lost", async () => {
  const prompt = (await goldenCasesServed("llama"))[2]?.ids.slice(0, 40) ?? [];
  const undisturbed = await TextGenerator.load(goldenUrl("llama"), { ...OPTIONS, device });
  const idsOf = async (generator: TextGenerator, options: GenerateOptions = {}) => {
    const ids: number[] = [];
    const run = generator.generate(prompt, { maxNewTokens: 20, ignoreEos: true, ...options });
    for await (const { tokens } of run) ids.push(...tokens.map(({ id }) => id));
    return ids;
  };
  const [greedy, seeded, scored] = [
    await idsOf(undisturbed),
    await idsOf(undisturbed, SEEDED),
    await undisturbed.score(prompt),
  ];
  await undisturbed.dispose();

  const devices = watchDevices();
  const liveBuffers = countLiveBuffers();
  const told: Recovery[] = [];
  const onRecovery = (recovery: Recovery) => told.push(recovery);
  const generator = await TextGenerator.load(goldenUrl("llama"), { ...OPTIONS, onRecovery });

  // 40 ids are three chunks, and the third gives the first token: with the 12th submit, steps are in flight.
  loseAfter(devices, "submit", 12);
  expect(await idsOf(generator, SEEDED)).toEqual(seeded);
  expect(devices.length).toBe(2);

  newest(devices).destroy();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(devices.length).toBe(2); // nobody needs another one yet
  expect(await idsOf(generator)).toEqual(greedy);
  expect(devices.length).toBe(3);

  loseAfter(devices, "submit", 2);
  const own = await generator.score(prompt);
  expect(own.tokens.map(({ id, rank }) => [id, rank])).toEqual(scored.tokens.map(({ id, rank }) => [id, rank]));
  expect(statesOf(told)).toEqual([1, 2, 3].flatMap((n) => [`reloading ${n}`, `recovered ${n}`]));
  expect(told[0]).toMatchObject({ mostAttempts: 3, reason: expect.stringContaining("destroyed") as unknown });

  const asked = [generator.generate(prompt).text(), generator.score(prompt)];
  newest(devices).destroy();
  const lost = { code: "device-lost", message: expect.stringMatching(/3 times in 5 minutes/) as unknown };
  for (const one of asked) await expect(one).rejects.toMatchObject(lost);
  await expect(generator.generate(prompt).text()).rejects.toMatchObject(lost);
  expect(statesOf(told).at(-1)).toBe("failed 3");
  await vi.waitFor(() => expect(liveBuffers()).toBe(0));
  await generator.dispose();
  vi.restoreAllMocks();
}, 300_000);
