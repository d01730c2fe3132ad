import { describe, expect, test } from "vitest";
import { WordloomError } from "../../errors";
import { emit } from "../../models/decoder";
import type { Operation } from "../../models/operations";
import { tinyModel } from "../../testing/tiny-models";
import { fuse } from "./fuse";

const kinds = (operations: readonly Operation[]) =>
  fuse(operations).map((operation) =>
    operation.kind === "matmul"
      ? `${operation.norm ? `${operation.norm.spec.kind}·` : ""}${operation.label}→${operation.epilogue.kind}`
      : operation.kind,
  );

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
    biases: ["q", "k", "v"].map((name) => `layers.0.${name}.bias`),
    outputs: 36,
  });
});

test("an order that no kernel serves is refused, not computed otherwise", () => {
  const lonely: Operation = { op: "add", from: "a", to: "x", width: 4, scale: 1 };
  expect(() => fuse([lonely])).toThrow(WordloomError);
});
