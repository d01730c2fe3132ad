// Writes text on the GPU in Node, through Dawn (the npm package "webgpu"). After `npm run build`:
//   node examples/node/generate.mjs [model folder] [prompt]
// A model is a path, an address or "hf:org/name"; without one it is the small model that comes with Wordloom.
import { fileURLToPath } from "node:url";
import { create, globals } from "webgpu";
import { TextGenerator } from "wordloom";

const bundled = fileURLToPath(new URL("../../public/models/wordloom-stories", import.meta.url));
const [model = bundled, prompt = "Once upon a time"] = process.argv.slice(2);

Object.assign(globalThis, globals); // GPUBufferUsage and the other names that a browser has
const gpu = create([]); // keep it: without it its devices go, too
const adapter = await gpu.requestAdapter();
if (adapter === null) throw new Error("Dawn found no GPU (on Linux it needs a Vulkan driver)");
const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
const device = await adapter.requestDevice({
  requiredLimits: { maxBufferSize, maxStorageBufferBindingSize }, // for weights above the 128 MiB that all devices bind
  requiredFeatures: ["subgroups", "shader-f16"].filter((feature) => adapter.features.has(feature)),
});

const generator = await TextGenerator.load(model, { device });
const { temperature = 0.8, topP = 0.95 } = generator.info.suggestedSampling;
const run = generator.generate(prompt, { maxNewTokens: 200, temperature, topP });
process.stdout.write(prompt);
for await (const { text } of run) process.stdout.write(text);

const { timings, finishReason } = await run.end;
console.log(
  `\n\n${generator.info.adapter}: ${timings.decodeTokensPerSecond.toFixed(1)} tokens/s, ended by ${finishReason}`,
);
await generator.dispose();
device.destroy();
