/** A made-up architecture, defined in testing/made-up-architecture.ts alone, on the reference backend. */
import { expect, test } from "vitest";
import { createReferenceBackend } from "../backends/reference/reference-backend";
import type { Backend } from "../backends/backend";
import { attentionIn } from "../testing/attention-in";
import { expectClose } from "../testing/compare";
import { greedyRun } from "../testing/golden-run";
import { madeUpSpec } from "../testing/made-up-architecture";
import { seededRandom } from "../testing/random";
import { fillSink, tinyValues } from "../testing/tiny-models";
import { emit } from "./decoder";
import type { AttentionSpec, DecoderSpec, LayerSpec, RopeSpec } from "./decoder-spec";

const PROMPT = Array.from({ length: 20 }, (_, index) => (7 * index + 3) % 67);

async function backendOf(spec: DecoderSpec): Promise<Backend> {
  const { contextLength } = spec;
  const backend = createReferenceBackend({ spec, program: emit(spec), dtype: "f32", kvDtype: "f32", contextLength });
  const random = seededRandom(5);
  const weights = new Map(spec.tensors.map((tensor) => [tensor.name, tinyValues(tensor, random)]));
  await fillSink(backend.weights, { spec, weights });
  await backend.ready();
  return backend;
}

const logprobsOf = async (spec: DecoderSpec) => (await greedyRun(await backendOf(spec), PROMPT, 1)).logprobs;

test("it writes text: one token after the other gives the ids of one prefill", async () => {
  const { ids } = await greedyRun(await backendOf(madeUpSpec()), PROMPT, 8);
  expect(new Set(ids).size).toBeGreaterThan(2);
  const again = await greedyRun(await backendOf(madeUpSpec()), [...PROMPT, ...ids.slice(0, 7)], 1);
  expect(again.ids).toEqual(ids.slice(7));
});

const eachLayer = (change: (layer: LayerSpec) => Partial<LayerSpec>) => {
  const spec = madeUpSpec();
  return { ...spec, layers: spec.layers.map((layer) => ({ ...layer, ...change(layer) })) };
};
const halfSplit = ({ layers: [layer] }: DecoderSpec): RopeSpec | undefined => {
  const { rope } = attentionIn(layer);
  return rope && { ...rope, pairing: "half-split" };
};
const attention = (change: Partial<AttentionSpec>) =>
  eachLayer((layer) => ({ mixer: { ...attentionIn(layer), ...change } }));

test.each<[string, DecoderSpec]>([
  ["the window", attention({ window: undefined })],
  ["the cap on scores", attention({ softcap: undefined })],
  ["the pairing", attention({ rope: halfSplit(madeUpSpec()) })],
  ["parallel blocks", eachLayer(() => ({ residual: "sequential" }))],
  ["the residual's factor", eachLayer(() => ({ residualScale: 1 }))],
  ["the factor on logits", { ...madeUpSpec(), head: { ...madeUpSpec().head, scale: 1 } }],
  ["the cap on logits", { ...madeUpSpec(), head: { ...madeUpSpec().head, softcap: undefined } }],
])("%s counts", async (_, changed) => {
  const expected = await logprobsOf(madeUpSpec());
  const different = await logprobsOf(changed);
  expect(() => expectClose(different, expected, { absolute: 1e-3 })).toThrow("values differ");
});

test("a key that its file does not ask for is refused", () => {
  expect(() => madeUpSpec({ sliding_window_pattern: 2 })).toThrow("sliding_window_pattern is 2");
});
