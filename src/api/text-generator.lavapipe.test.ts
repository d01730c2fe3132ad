/** TextGenerator in Node, on a device of Dawn's and a folder's path. */
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { TextGenerator } from "../index";
import { dawnDevice } from "../testing/dawn";
import { goldenCases, goldenFolder } from "../testing/golden-models";

const device = await dawnDevice();
afterAll(() => device.destroy());

test("a golden model from a path gives its golden ids, and leaves the device alive", async () => {
  const generator = await TextGenerator.load(goldenFolder("llama"), { device, dtype: "f32" });
  expect(generator.info).toMatchObject({ backend: "webgpu", worker: false, dtype: "f32", kvDtype: "f32" });
  for (const { ids, greedy_ids } of goldenCases("llama")) {
    const written: number[] = [];
    for await (const { tokens } of generator.generate(ids, { maxNewTokens: greedy_ids.length, ignoreEos: true })) {
      written.push(...tokens.map(({ id }) => id));
    }
    expect(written).toEqual(greedy_ids);
  }
  await generator.dispose();
  const buffer = device.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC });
  device.queue.writeBuffer(buffer, 0, new Uint32Array(4));
  await device.queue.onSubmittedWorkDone();
  buffer.destroy();
});

test("the bundled model writes a story from its path", async () => {
  const folder = fileURLToPath(new URL("../../public/models/wordloom-stories", import.meta.url));
  const generator = await TextGenerator.load(folder, { device });
  const run = generator.generate("Once upon a time", { maxNewTokens: 40 });
  expect(await run.text()).toMatch(/^[\s\S]*[a-z]+[.,] /);
  const { timings } = await run.end;
  const { adapter, tier } = generator.info;
  console.log(
    `${adapter}, tier ${tier}: decode ${timings.decodeTokensPerSecond.toFixed(1)} tokens/s\n${await run.text()}`,
  );
  await generator.dispose();
});

test("without a device there is no WebGPU in Node, and that is said", async () => {
  await expect(TextGenerator.load(goldenFolder("llama"))).rejects.toMatchObject({ code: "webgpu-unavailable" });
});
