import { describe, expect, test } from "vitest";
import { emit } from "../../models/decoder";
import type { Operation } from "../../models/operations";
import { tinyModel } from "../../testing/tiny-models";
import { variedModel } from "../../testing/varied-models";
import { fuse } from "./fuse";

const kinds = (operations: readonly Operation[]) =>
  fuse(operations).map((operation) => {
    if (operation.kind === "matmul") {
      return `${operation.norm ? `${operation.norm.spec.kind}·` : ""}${operation.label}→${operation.epilogue.kind}`;
    }
    if (operation.kind === "attention" && operation.queryKeyNorm)
      return `attention, norm over ${operation.queryKeyNorm.over}`;
    return operation.kind;
  });

describe("a decoder's operations become", () => {
  test("five a layer for a llama: the norms, the residuals and the gate fold into the products", () => {
    const { body, head } = emit(tinyModel({ kind: "llama", layers: 1 }).spec);
    expect(kinds(body)).toEqual([
      "embed",
      "rms·q·k·v→store",
      "attention",
      "output→residual",
      "rms·gate·up→gated",
      "down→residual",
    ]);
    expect(kinds(head)).toEqual(["rms·logits→store"]);
  });

  test("five a layer for a gpt2: the activation folds into the product before it", () => {
    const { body } = emit(tinyModel({ kind: "gpt2", layers: 2 }).spec);
    const layer = ["layer·q·k·v→store", "attention", "output→residual", "layer·up→activation", "down→residual"];
    expect(kinds(body)).toEqual(["embed", ...layer, ...layer]);
  });

  test("seven operations a layer where norms stand around each block", () => {
    const { body, head } = variedModel("norms around each block").program;
    const layer = [
      "rms·q·k·v→store",
      "attention, norm over head",
      "output→store",
      "norm_add",
      "rms·gate·up→gated",
      "down→store",
      "norm_add",
    ];
    expect(kinds(body)).toEqual(["embed", ...layer, ...layer]);
    expect(kinds(head)).toEqual(["rms·head_product→logits"]);
    const fused = [...fuse(body), ...fuse(head)];
    expect(fused.filter(({ kind }) => kind === "norm_add")).toMatchObject(Array(4).fill({ to: "x", scale: 0.4 }));
    expect(fused.at(-1)).toMatchObject({ epilogue: { scale: 0.7, softcap: 5 }, to: "logits" });
  });

  test("products of the residual stream itself where norms stand after blocks only", () => {
    const { body } = variedModel("norms after blocks only").program;
    const layer = [
      "q·k·v→store",
      "attention, norm over all",
      "output→store",
      "norm_add",
      "gate·up→gated",
      "down→store",
      "norm_add",
    ];
    expect(kinds(body)).toEqual(["embed", ...layer, ...layer]);
    expect(fuse(body)[1]).toMatchObject({ from: "x", norm: undefined });
  });

  test("a short convolution between the products that attention would have", () => {
    const { body } = variedModel("a short convolution").program;
    const mlp = ["rms·gate·up→gated", "down→residual"];
    expect(kinds(body)).toEqual([
      "embed",
      ...["rms·q·k·v→store", "attention, norm over head", "output→store", "norm_add", ...mlp],
      ...["rms·input_gate·output_gate·convolved→store", "convolution", "convolution_output→store", "norm_add", ...mlp],
    ]);
    expect(fuse(body)[8]).toMatchObject({ projections: "layers.1.input_gate", taps: 3, width: 36 });
  });

  test("the same five a layer for blocks in parallel, both with the norm of the same x", () => {
    const { body } = variedModel("parallel blocks of one norm").program;
    const layer = [
      "layer·q·k·v→store",
      "attention, norm over head",
      "layer·gate·up→gated",
      "output→residual",
      "down→residual",
    ];
    expect(kinds(body)).toEqual(["embed", ...layer, ...layer]);
    const [, qkv, , gateUp, output] = fuse(body);
    expect(gateUp).toMatchObject({ norm: (qkv as { norm: object }).norm }); // a matmul, as the list above says
    expect(output).toMatchObject({ epilogue: { kind: "residual", scale: 0.5 }, to: "x" });
  });
});

test("a product without a bias among others that have one gets zeros", () => {
  const { body } = variedModel("parallel blocks of one norm").program;
  expect(fuse(body)[1]).toMatchObject({
    biases: [
      { name: "layers.0.q.bias", rows: 36 },
      { name: undefined, rows: 12 },
      { name: "layers.0.v.bias", rows: 12 },
    ],
  });
});

test("q, k and v are one matrix, in this order, with their biases one after the other", () => {
  const { body } = emit(tinyModel({ kind: "gpt2", layers: 1, hidden: 12, heads: 3 }).spec);
  const [, qkv] = fuse(body);
  expect(qkv).toMatchObject({
    matrix: {
      weights: ["q", "k", "v"].map((name) => ({ name: `layers.0.${name}.weight`, rows: 12 })),
      columns: 12,
      gated: false,
    },
    biases: ["q", "k", "v"].map((name) => ({ name: `layers.0.${name}.bias`, rows: 12 })),
    outputs: 36,
  });
});

const linear = { op: "linear", weight: "w", bias: undefined, inputs: 36, outputs: 36 } as const;

describe("what no kernel serves is refused, not computed otherwise:", () => {
  const { body } = emit(tinyModel({ kind: "llama", layers: 1 }).spec);
  const varied = variedModel("norms around each block").program.body;
  const without = (operations: readonly Operation[], op: Operation["op"], to: string) =>
    operations.filter((each) => !(each.op === op && each.to === to));

  test.each<[string, readonly Operation[], string]>([
    [
      "an addition of nothing",
      [{ op: "add", from: "a", to: "x", width: 4, scale: 1 }],
      "the add to x as the first operation",
    ],
    [
      "a value that a fusion left unwritten",
      [...body, { ...linear, from: "layers.0.mixer_norm", to: "again" }],
      "the linear to again",
    ],
    [
      "attention of q and k in another order",
      body.map((each) => (each.op === "attention" ? { ...each, q: each.k, k: each.q } : each)),
      "the attention to layers.0.attention after linear to layers.0.v",
    ],
    [
      "a convolution whose gates come in another order",
      variedModel("a short convolution").program.body.map((each) =>
        each.op === "convolution" ? { ...each, inputGate: each.outputGate, outputGate: each.inputGate } : each,
      ),
      "the convolution to layers.1.convolution after linear to layers.1.convolved",
    ],
    [
      "a norm of q and none of k",
      without(varied, "head_norm", "layers.0.k_norm").map((each) =>
        each.op === "attention" ? { ...each, k: "layers.0.k" } : each,
      ),
      "the attention to layers.0.attention",
    ],
    [
      "norms of q and k of two kinds",
      varied.map((each) =>
        each.to === "layers.1.q_norm" && each.op === "head_norm" ? { ...each, spec: { ...each.spec, eps: 1 } } : each,
      ),
      "the attention to layers.1.attention",
    ],
    [
      "a norm whose result nobody reads",
      varied.slice(
        0,
        varied.findIndex(({ to }) => to === "layers.1.attention"),
      ),
      "the head_norm to layers.1.q_norm",
    ],
    [
      "an activation of something else",
      without(body, "linear", "layers.0.up"),
      "the activation to layers.0.activation",
    ],
  ])("%s", (_, operations, message) => {
    expect(() => fuse(operations)).toThrow(
      expect.objectContaining({ code: "model-unsupported", message: expect.stringContaining(message) }),
    );
  });
});
