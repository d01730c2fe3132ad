/** What the text of a kernel says of several sequences whose steps are one. */
import { expect, test } from "vitest";
import { shaderFiles } from "../gpu/shader-files";
import { REDUCTIONS } from "../gpu/tier";
import { assembleWgsl } from "../gpu/wgsl";

const HEAD = { STEP: "decode", HALF: "packed", WEIGHTS: "q8", EPILOGUE: "store", READS_X: true };
const textOf = (file: string, defines: Record<string, string | boolean>) =>
  assembleWgsl(`${file}.wgsl`, shaderFiles, { defines: { ...HEAD, ...defines } }).code;

test.each(REDUCTIONS)("on the tier %s gemv_rows reads as many weights for 16 rows as for 1", (REDUCE) => {
  for (const norm of ["", "rms", "layer"]) {
    const reads = ["1", "4", "16"].map((ROWS) => {
      const code = textOf("gemv_rows", { REDUCE, ROWS, NORM: norm });
      const main = code.slice(code.indexOf("fn main"));
      return [/\bweight_columns\(/g, /\bweight_scale\(/g, /\bproducts\(/g].map((call) => main.match(call)?.length);
    });
    // Two rows of the matrix at a time: each once, and multiplied with each row of activations.
    expect(reads).toEqual([
      [2, 2, 2],
      [2, 2, 8],
      [2, 2, 32],
    ]);
  }
});

test.each([
  "attention_decode",
  "attention_combine",
  "convolution",
  "history_scan",
  "logits_reduce",
  "logits_top",
  "sample",
])("of one sequence %s has neither rows nor slots in its text", (file) => {
  const shape = { REDUCE: "cpu", KV: "f32", KV_ACCESS: "read_write", ADJUSTED: true, HISTORY: true };
  expect(textOf(file, shape)).not.toMatch(/\brow = workgroup|slot_of|workgroup\.z/);
  expect(textOf(file, { ...shape, ROWS: true })).toMatch(/\brow = workgroup|slot_of/);
});
