import { describe, expect, test } from "vitest";
import { tinyModel } from "../testing/tiny-models";
import { madeUpSpec } from "../testing/made-up-architecture";
import { emit, keptPerPosition, weightMatrices } from "./decoder";
import type { LayerSpec } from "./decoder-spec";
import type { Operation } from "./operations";
import { readModelConfig } from "./registry";

const llama = tinyModel({ kind: "llama", layers: 1 }).spec;
const gpt2 = tinyModel({ kind: "gpt2", layers: 1, tied: false }).spec;
const named = (operations: readonly Operation[]) => operations.map(({ op, to }) => `${op} ${to}`);

/** The names of the values that an operation needs. */
function valuesRead(operation: Operation): readonly string[] {
  switch (operation.op) {
    case "embed":
      return [];
    case "attention":
      return [operation.q, operation.k, operation.v];
    case "convolution":
      return [operation.inputGate, operation.outputGate, operation.convolved];
    case "activation":
      return operation.up === undefined ? [operation.gate] : [operation.gate, operation.up];
    case "add":
      return [operation.from, operation.to];
    default:
      return [operation.from];
  }
}

test("llama is, in this order", () => {
  const { body, head } = emit(llama);
  expect(named(body)).toEqual([
    "embed x",
    "norm layers.0.mixer_norm",
    "linear layers.0.q",
    "linear layers.0.k",
    "linear layers.0.v",
    "attention layers.0.attention",
    "linear layers.0.output",
    "add x",
    "norm layers.0.mlp_norm",
    "linear layers.0.gate",
    "linear layers.0.up",
    "activation layers.0.activation",
    "linear layers.0.down",
    "add x",
  ]);
  expect(named(head)).toEqual(["norm final_norm", "linear logits"]);
  expect(head[1]).toMatchObject({ weight: "token_embedding", bias: undefined, inputs: 36, outputs: 65 });
});

test("gpt2 has positions, no gate, biases, and here a head of its own", () => {
  const { body, head } = emit(gpt2);
  expect(body[0]).toMatchObject({ table: "token_embedding", positions: "position_embedding", scale: 1 });
  expect(named(body)).not.toContain("linear layers.0.gate");
  expect(body.find(({ op }) => op === "activation")).toMatchObject({ gate: "layers.0.up", up: undefined });
  expect(body.filter((operation) => operation.op === "linear" && operation.bias === undefined)).toEqual([]);
  expect(head[1]).toMatchObject({ weight: "head.weight", bias: undefined });
});

const lfm2 = readModelConfig(
  {
    ...{ model_type: "lfm2", vocab_size: 65, hidden_size: 36, intermediate_size: 60, num_hidden_layers: 2 },
    ...{ num_attention_heads: 3, num_key_value_heads: 1, layer_types: ["conv", "full_attention"], conv_bias: true },
  },
  undefined,
).spec;

test("a convolution stands where attention would, between projections of the same norm and one that is added", () => {
  expect(named(emit(lfm2).body).slice(1, 8)).toEqual([
    "norm layers.0.mixer_norm",
    "linear layers.0.input_gate",
    "linear layers.0.output_gate",
    "linear layers.0.convolved",
    "convolution layers.0.convolution",
    "linear layers.0.convolution_output",
    "add x",
  ]);
  expect(keptPerPosition(lfm2)).toEqual([[36], [12, 12]]);
});

const madeUp = madeUpSpec({ num_hidden_layers: 2 });

test("blocks that read the same x come both before what they add; norms after a block before it is added", () => {
  const { body, head } = emit(madeUp);
  const layers = named(body).map((name) => name.replace(/layers\.\d\./, ""));
  const attention = ["norm mixer_norm", "linear q", "linear k", "linear v"];
  const heads = ["head_norm q_norm", "head_norm k_norm", "attention attention"];
  const mlp = ["norm mlp_norm", "linear gate", "linear up", "activation activation"];
  const addAttention = ["linear output", "norm mixer_post_norm", "add x"];
  const addMlp = ["linear down", "add x"];
  expect(layers).toEqual([
    "embed x",
    ...[...attention, ...heads, ...addAttention, ...mlp, ...addMlp],
    ...[...attention, ...heads, ...mlp, ...addAttention, ...addMlp],
  ]);
  expect(named(head)).toEqual(["norm final_norm", "linear head_product", "logits logits"]);
  expect(body.filter(({ op }) => op === "add").map((add) => "scale" in add && add.scale)).toEqual(Array(4).fill(0.7));
});

test("a layer without norms before its blocks reads x; a shared norm is taken twice", () => {
  const [layer] = madeUp.layers;
  if (layer === undefined) throw new Error("the made-up model has layers");
  const inputs = (changed: LayerSpec) =>
    emit({ ...madeUp, layers: [changed] }).body.flatMap((operation) =>
      operation.op === "linear" ? [`${operation.to} of ${operation.from}`.replaceAll("layers.0.", "")] : [],
    );
  const without = { ...layer, mixerNorm: undefined, mlpNorm: undefined };
  expect(inputs(without)).toEqual(expect.arrayContaining(["q of x", "v of x", "gate of x", "up of x"]));
  const norms = emit({ ...madeUp, layers: [{ ...layer, mlpNorm: "mixer_norm" }] }).body.filter(
    ({ to }) => to === "layers.0.mixer_norm" || to === "layers.0.mlp_norm",
  );
  expect(norms.map((norm) => "weight" in norm && norm.weight)).toEqual(Array(2).fill("layers.0.mixer_norm.weight"));
});

describe.each([
  ["llama", llama],
  ["the made-up one", madeUp],
  [
    "llama with all biases, untied",
    tinyModel({ kind: "llama", tied: false, config: { attention_bias: true, mlp_bias: true } }).spec,
  ],
  ["gpt2", gpt2],
  ["lfm2 with biases", lfm2],
])("%s", (_, spec) => {
  const program = emit(spec);
  const operations = [...program.body, ...program.head];

  test("uses every tensor of the spec, and no other", () => {
    const used = operations.flatMap((operation) => {
      if (operation.op === "embed") return [operation.table, operation.positions];
      return "weight" in operation ? [operation.weight, operation.bias] : [];
    });
    const names = new Set(used.filter((name) => name !== undefined));
    expect([...names].toSorted()).toEqual(spec.tensors.map(({ name }) => name).toSorted());
  });

  test("reads each value after it was written, and writes each once, but for the residual stream", () => {
    const written = new Set<string>();
    for (const operation of operations) {
      const read = valuesRead(operation);
      for (const name of read) expect(written).toContain(name);
      if (operation.op !== "add") expect(written).not.toContain(operation.to);
      written.add(operation.to);
    }
  });

  test("shapes of matrices are those of the operations", () => {
    const shapes = new Map(spec.tensors.map(({ name, shape }) => [name, shape]));
    for (const operation of operations) {
      if (operation.op === "linear")
        expect(shapes.get(operation.weight)).toEqual([operation.outputs, operation.inputs]);
      if (operation.op === "convolution") {
        expect(shapes.get(operation.weight)).toEqual([operation.taps, operation.width]);
        expect(operation.bias && shapes.get(operation.bias)).toEqual([1, operation.width]);
      }
    }
  });

  test("norms, biases, convolutions and positions are not among the matrices", () => {
    expect([...weightMatrices(program)].filter((name) => /norm|bias|position|convolution\./.test(name))).toEqual([]);
  });
});
