/**
 * A device that is lost at any moment: what was asked goes on on another one, and what comes out is what an undisturbed
 * generator writes. Chromium's own `destroy`; some of it in short in lost-device.gpu.test.ts; a killed GPU process in
 * e2e. Tier "cpu", the golden llama.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { TextGenerator, type GenerateOptions, type LoadOptions, type Recovery } from "../index";
import { browserDevice } from "../testing/browser-device";
import { loseAfter, newest, statesOf, watchDevices } from "../testing/losing-devices";
import { goldenCasesServed, goldenUrl } from "../testing/served-models";

const OPTIONS = { dtype: "f32", kvDtype: "f32", worker: false, internal: { tier: "cpu", prefillChunk: 16 } } as const;
const SEEDED: GenerateOptions = { temperature: 1, seed: 5, repetitionPenalty: 1.2, frequencyPenalty: 0.4 };

let prompt: number[] = [];
let undisturbed: TextGenerator;
const device = await browserDevice();
beforeAll(async () => {
  prompt = (await goldenCasesServed("llama"))[2]?.ids.slice(0, 40) ?? [];
  undisturbed = await TextGenerator.load(goldenUrl("llama"), { ...OPTIONS, device });
}, 120_000);
const open: TextGenerator[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const generator of open.splice(0)) await generator.dispose();
});
afterAll(async () => {
  await undisturbed.dispose();
  device.destroy();
});

async function load(options: LoadOptions = {}) {
  const told: Recovery[] = [];
  const generator = await TextGenerator.load(goldenUrl("llama"), {
    ...OPTIONS,
    onRecovery: (recovery) => told.push(recovery),
    ...options,
  });
  open.push(generator);
  return { generator, told };
}

async function idsOf(generator: TextGenerator, options: GenerateOptions = {}): Promise<number[]> {
  const run = generator.generate(prompt, { maxNewTokens: 20, ignoreEos: true, ...options });
  const ids: number[] = [];
  for await (const { tokens } of run) ids.push(...tokens.map(({ id }) => id));
  const { usage } = await run.end;
  expect(usage.completionTokens).toBe(20);
  return ids;
}

describe("a model is loaded all the same on another device", () => {
  test.each([
    ["its kernels are being compiled", "compile", 4],
    ["the weights are on their way", "upload", 9],
    ["it warms up", "submit", 1],
  ] as const)("where the first is lost while %s", async (_, kind, n) => {
    const devices = watchDevices();
    loseAfter(devices, kind, n);
    const { generator, told } = await load();
    expect(devices.length).toBe(2);
    expect(statesOf(told).at(-1)).toMatch("recovered");
    expect(await idsOf(generator)).toEqual(await idsOf(undisturbed));
  });
});

describe("an answer is the undisturbed one", () => {
  // 40 ids are three chunks; the third gives the first token.
  test.each([
    ["the first chunk of the prompt is read", 1],
    ["the last chunk of the prompt is read", 3],
    ["the first steps are in flight", 5],
    ["steps are in flight in the middle", 12],
    ["the last step is in flight", 22],
  ])("where the device is lost while %s, greedy or by a seed", async (_, n) => {
    const devices = watchDevices();
    const { generator, told } = await load();
    loseAfter(devices, "submit", n);
    expect(await idsOf(generator)).toEqual(await idsOf(undisturbed));
    vi.restoreAllMocks();
    loseAfter([newest(devices)], "submit", n);
    expect(await idsOf(generator, { ...SEEDED, reusePrefix: false })).toEqual(await idsOf(undisturbed, SEEDED));
    expect(told[0]).toMatchObject({ state: "reloading", attempt: 1, mostAttempts: 3 });
    expect(told[0]?.reason).toContain("destroyed");
  });
});
