import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createReferenceBackend } from "../backends/reference/reference-backend";
import { logSoftmaxAt } from "../backends/reference/sampling";
import { emit } from "../models/decoder";
import { readModelConfig } from "../models/registry";
import { fillFromCheckpoint } from "../testing/checkpoint";
import { ggmlQ4RoundTrip } from "../testing/ggml-q4";
import { readCheckpoint, readFolderJson } from "../testing/golden-models";
import { sharedDataOrWarn } from "../testing/shared-data";
import { packRows, unpackRows, type WeightDtype } from "./quantization";

type Round = (values: Float32Array, rows: number, columns: number) => Float32Array;

const held =
  (dtype: WeightDtype): Round =>
  (values, rows, columns) =>
    unpackRows(dtype, packRows(dtype, values, rows, columns), rows, columns);

const ggml: Round = (values, rows, columns) => {
  const result = new Float32Array(values.length);
  for (let at = 0; at < rows * columns; at += columns)
    result.set(ggmlQ4RoundTrip(values.subarray(at, at + columns)), at);
  return result;
};

const folder = sharedDataOrWarn("stories260k", "what rounding of weights does to a trained model's probabilities");

/** Natural log-probabilities of the whole vocabulary after each of the ids. */
async function logprobs(folder: string, round: Round | undefined, ids: readonly number[]): Promise<Float64Array[]> {
  const { spec } = readModelConfig(readFolderJson(folder, "config.json"), undefined);
  const backend = createReferenceBackend({
    spec,
    program: emit(spec),
    dtype: round === undefined ? "f32" : "q4",
    kvDtype: "f32",
    contextLength: spec.contextLength,
    ...(round === undefined ? {} : { round: (_, values, rows, columns) => round(values, rows, columns) }),
  });
  fillFromCheckpoint(backend.weights, spec, readCheckpoint(folder));
  await backend.ready();
  const rows: Float64Array[] = [];
  for (const [position, id] of ids.entries()) {
    await backend.prefill(Uint32Array.of(id), position, false);
    const logits = await backend.readLogits();
    rows.push(Float64Array.from(logits, (_, token) => logSoftmaxAt(logits, token)));
  }
  return rows;
}

/** Mean over the positions of Σ p · (log p - log q), in nats. */
function divergence(p: readonly Float64Array[], q: readonly Float64Array[]): number {
  let sum = 0;
  p.forEach((row, i) => row.forEach((logP, id) => (sum += Math.exp(logP) * (logP - (q[i]?.[id] ?? -Infinity)))));
  return sum / p.length;
}

test.runIf(folder)("q4 changes a trained model's probabilities less than llama.cpp's Q4_0, q8 hardly", async () => {
  if (folder === undefined) return;
  const golden = JSON.parse(readFileSync(`${folder}/golden.json`, "utf8")) as {
    files: Record<string, { greedy: { prompt_ids: number[]; ids: number[] }[] }>;
  }; // as its provenance says
  const divergences: Record<string, number> = { q4: 0, ggml: 0, q8: 0, f16: 0 };
  const texts = golden.files["F32"]?.greedy.slice(0, 4) ?? [];
  expect(texts.length).toBe(4);
  for (const { prompt_ids, ids } of texts) {
    const tokens = [...prompt_ids, ...ids].slice(0, 64);
    const exact = await logprobs(folder, undefined, tokens);
    for (const [name, round] of Object.entries({ q4: held("q4"), ggml, q8: held("q8"), f16: held("f16") })) {
      divergences[name] =
        (divergences[name] ?? 0) + divergence(exact, await logprobs(folder, round, tokens)) / texts.length;
    }
  }
  console.log("mean KL in nats:", divergences);
  expect(divergences["q4"]).toBeLessThan(divergences["ggml"] as number);
  expect(divergences["q8"]).toBeLessThan((divergences["q4"] as number) / 50);
  expect(divergences["f16"]).toBeLessThan(1e-6);
});
