// node checkpoint/make.mjs <shape> [--out DIR] [--only hf,gguf,onnx] [--gguf F16,Q8_0,Q4_0] [--seed N] [--std X]
//                          [--separate-qkv] [--accuracy-level N]
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { shapeOf } from "./shapes.mjs";
import { writeHf } from "./hf.mjs";
import { writeGguf } from "./gguf.mjs";
import { writeOnnx } from "./onnx.mjs";

const { values: a, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: "string", default: "models" },
    only: { type: "string", default: "hf,gguf,onnx" },
    gguf: { type: "string" },
    seed: { type: "string" },
    std: { type: "string" },
    "separate-qkv": { type: "boolean" },
    "accuracy-level": { type: "string", default: "0" },
  },
});
for (const name of positionals.length ? positionals : ["tiny"]) {
  const over = {};
  if (a.seed) over.seed = Number(a.seed);
  if (a.std) over.std = Number(a.std);
  const s = shapeOf(name, over),
    dir = path.join(a.out, name),
    only = a.only.split(",");
  const step = (label, f) => {
    const t = performance.now();
    f();
    console.log(`${name}: ${label} ${((performance.now() - t) / 1000).toFixed(1)} s`);
  };
  fs.mkdirSync(path.join(dir, "onnx"), { recursive: true });
  fs.writeFileSync(path.join(dir, "shape.json"), JSON.stringify(s));
  if (only.includes("hf")) step("hf", () => writeHf(s, dir));
  const types = (a.gguf ?? (s.dtype === "f32" ? "F32,F16,Q8_0,Q4_0" : "F32,F16,Q8_0,Q4_0")).split(",");
  if (only.includes("gguf"))
    for (const t of types) step(`gguf ${t}`, () => writeGguf(s, path.join(dir, `model-${t}.gguf`), t));
  if (only.includes("onnx"))
    for (const q4 of [false, true]) {
      step(`onnx ${q4 ? "q4" : "fp32"}`, () =>
        writeOnnx(s, path.join(dir, "onnx", q4 ? "model_q4.onnx" : "model.onnx"), {
          q4,
          packedQkv: !a["separate-qkv"],
          accuracyLevel: Number(a["accuracy-level"]),
        }),
      );
    }
}
