// node verify.mjs [shape] [--modules node_modules] [--models models] [--new 24]
// Checks on the CPU, in Node, that the file formats hold the same model: the prompt text tokenises to the
// same ids in llama.cpp and in the HF tokenizer, and greedy tokens agree between llama.cpp (F32, F16 GGUF)
// and ONNX Runtime (fp32 ONNX); Q8_0/Q4_0/q4 are printed for information (llama.cpp's CPU kernels quantise
// activations to 8 bits, ONNX Runtime's do not).
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nodeContext } from "./node-host.mjs";
import { makePrompt } from "./prompts.mjs";

const root = path.dirname(fileURLToPath(import.meta.url));
const { values: a, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    modules: { type: "string", default: path.join(root, "node_modules") },
    models: { type: "string", default: path.join(root, "models") },
    new: { type: "string", default: "24" },
    prompts: { type: "string", default: "3" },
  },
});
const shape = JSON.parse(fs.readFileSync(path.join(a.models, positionals[0] ?? "tiny", "shape.json")));
const n = Number(a.new),
  prompts = Array.from({ length: Number(a.prompts) }, (_, i) => makePrompt(shape, 128, i));
const context = (options) => nodeContext({ shape, models: a.models, modules: a.modules, options });
const same = (x, y) => {
  let i = 0;
  while (i < Math.min(x.length, y.length) && x[i] === y[i]) i++;
  return i;
};

async function greedy(engine, options) {
  const { load } = await import(`./engines/${engine}.mjs`),
    s = await load(context(options)),
    out = [];
  for (const p of prompts)
    out.push((await s.generate({ promptIds: p.ids, promptText: p.text, maxNewTokens: n, onToken() {} })).ids);
  await s.dispose();
  return out;
}

let bad = 0;
const check = (label, ok, detail = "") => {
  console.log(`${ok ? "ok  " : "FAIL"} ${label} ${detail}`);
  if (!ok) bad++;
};

const ctx = context({});
const { AutoTokenizer, env } = await ctx.import("@huggingface/transformers");
Object.assign(env, { allowRemoteModels: false, localModelPath: ctx.modelRoot });
const hf = await AutoTokenizer.from_pretrained(shape.name, { local_files_only: true });
const { getLlama, LlamaLogLevel } = await ctx.import("node-llama-cpp");
const llama = await getLlama({
  gpu: false,
  build: "never",
  skipDownload: true,
  progressLogs: false,
  logLevel: LlamaLogLevel.warn,
});
const model = await llama.loadModel({ modelPath: `${ctx.modelDir}/model-Q8_0.gguf` });
prompts.forEach((p, i) => {
  check(`prompt ${i} text -> ids, HF tokenizer`, String(hf.encode(p.text)) === String(p.ids));
  check(`prompt ${i} text -> ids, llama.cpp`, String([...model.tokenize(p.text)]) === String(p.ids));
});
await model.dispose();

const ref = await greedy("node-llama-cpp", { file: "model-F32.gguf", threads: 2, kv: "F32" });
check(
  "no end-of-text, no NaN",
  ref.every((ids) => ids.length === n && ids.every((id) => id > 2)),
  `distinct tokens ${ref.map((x) => new Set(x).size)}`,
);
const against = async (label, engine, options, must) => {
  const got = (await greedy(engine, options)).map((ids, i) => same(ids, ref[i]));
  if (must)
    check(
      label,
      got.every((k) => k >= Math.min(16, n)),
      `agrees for ${got} of ${n} tokens`,
    );
  else console.log(`     ${label} agrees for ${got} of ${n} tokens (information)`);
};
await against("llama.cpp F16 vs F32", "node-llama-cpp", { file: "model-F16.gguf", threads: 2 }, false);
await against("ONNX fp32 vs llama.cpp F32", "transformersjs", { device: "cpu", dtype: "fp32" }, true);
await against("llama.cpp Q8_0 vs F32", "node-llama-cpp", { file: "model-Q8_0.gguf", threads: 2 }, false);
await against("llama.cpp Q4_0 vs F32", "node-llama-cpp", { file: "model-Q4_0.gguf", threads: 2 }, false);
const q4 = [
  await greedy("node-llama-cpp", { file: "model-Q4_0.gguf", threads: 2 }),
  await greedy("transformersjs", { device: "cpu", dtype: "q4" }),
];
console.log(
  `     ONNX q4 vs llama.cpp Q4_0 agrees for ${q4[0].map((x, i) => same(x, q4[1][i]))} of ${n} tokens (information)`,
);
console.log(bad ? `${bad} checks failed` : "all checks passed");
process.exit(bad ? 1 : 0);
