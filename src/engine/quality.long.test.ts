/** What holding the bundled model's weights in fewer bits does to its probabilities, beside llama.cpp's Q4_0. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Interpreter } from "../backends/reference/interpreter";
import { ReferenceWeights } from "../backends/reference/weights";
import { packRows, unpackRows, type WeightDtype } from "../formats/quantization";
import { emit, weightMatrices } from "../models/decoder";
import { readModelConfig } from "../models/registry";
import { openSource } from "../storage/open-source";
import { ggmlQ4RoundTrip } from "../testing/ggml-q4";
import { readFolderJson } from "../testing/golden-models";
import { logSoftmax } from "../testing/golden-run";
import { HELD_BACK_PROMPTS } from "../testing/held-back-prompts";
import { createTokenizer } from "../tokenizer/load-tokenizer";
import { loadWeights } from "./load-weights";

const FOLDER = fileURLToPath(new URL("../../public/models/wordloom-stories", import.meta.url));

const MAX_TOKENS = 128;

type Round = (values: Float32Array, rows: number, columns: number) => Float32Array;

const held =
  (dtype: WeightDtype): Round =>
  (values, rows, columns) =>
    unpackRows(dtype, packRows(dtype, values, rows, columns), rows, columns);

/** The model's rows have a multiple of 32 columns, so that no group of llama.cpp's goes over a row's end. */
const ROUNDINGS: Record<string, Round> = { q8: held("q8"), q4: held("q4"), q4_0: ggmlQ4RoundTrip };

/** Tokens → [T, V] log-probabilities. */
type Model = (tokens: Uint32Array) => Float64Array[];

/** The same matrices are rounded in each: all of the layers', and the embedding that is also the head. */
async function modelOf(round: Round | undefined): Promise<Model> {
  const { spec } = readModelConfig(readFolderJson(FOLDER, "config.json"), undefined);
  const { body, head } = emit(spec);
  const weights = new ReferenceWeights(spec, weightMatrices({ body, head }), round);
  await loadWeights({ files: await openSource(FOLDER), spec, sink: weights });
  weights.assertComplete();
  const interpreter = new Interpreter(spec, MAX_TOKENS, (name) => weights.get(name), undefined);
  return (tokens) => {
    const logits = interpreter.runHead(head, interpreter.runBody(body, tokens, 0));
    return Array.from(tokens, (_, row) =>
      logSoftmax(logits.subarray(row * spec.vocabSize, (row + 1) * spec.vocabSize)),
    );
  };
}

/** Σ p · (log p - log q), in nats. */
function divergence(p: Float64Array, q: Float64Array): number {
  return p.reduce((sum, logP, id) => sum + Math.exp(logP) * (logP - (q[id] ?? -Infinity)), 0);
}

test("over fifty held-back texts q8 hardly changes the bundled model, and q4 less than llama.cpp's Q4_0", async () => {
  const tokenizer = createTokenizer({
    tokenizerJson: readFolderJson(FOLDER, "tokenizer.json"),
    tokenizerConfig: readFolderJson(FOLDER, "tokenizer_config.json"),
  });
  const exact = await modelOf(undefined);
  const rounded = await Promise.all(Object.values(ROUNDINGS).map(modelOf));
  const sums = rounded.map(() => 0);
  let positions = 0;
  let loss = 0;
  expect(HELD_BACK_PROMPTS).toHaveLength(50);
  for (const text of HELD_BACK_PROMPTS) {
    const ids = tokenizer.encode(text, { addSpecialTokens: true });
    expect(ids.length, text).toBeGreaterThanOrEqual(50);
    expect(ids.length, text).toBeLessThanOrEqual(MAX_TOKENS);
    const p = exact(ids);
    for (const [index, model] of rounded.entries()) {
      model(ids).forEach((q, position) => {
        sums[index] = (sums[index] ?? 0) + divergence(p[position] ?? q, q);
      });
    }
    for (let position = 1; position < ids.length; position++) loss -= p[position - 1]?.[ids[position] ?? -1] ?? NaN;
    positions += ids.length;
  }
  const means = Object.fromEntries(
    Object.keys(ROUNDINGS).map((name, index) => [name, (sums[index] ?? NaN) / positions]),
  );
  const nats = loss / (positions - HELD_BACK_PROMPTS.length);
  console.log(`mean KL to f32 in nats over ${positions} positions (f32: ${nats.toFixed(3)} nats a token):`, means);
  expect(nats).toBeLessThan(6); // it is prose to the model: noise would be log 4096 = 8.3
  expect(means["q8"]).toBeLessThanOrEqual(0.001);
  expect(means["q4"]).toBeLessThanOrEqual(means["q4_0"] as number);
});
