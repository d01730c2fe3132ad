import { expect, test } from "vitest";
import type { AttentionSpec, LayerSpec } from "../models/decoder-spec";
import { kvShapeOf } from "./kv-shape";

const layer = (mixer: Partial<AttentionSpec> | { kind: "convolution" }) => ({ mixer }) as LayerSpec;
const attention = (keyValueHeadCount: number, headDim: number) =>
  layer({ kind: "attention", keyValueHeadCount, headDim });

test("layers that keep alike keys and values are counted together, convolutions are left out", () => {
  const layers = [attention(4, 32), layer({ kind: "convolution" }), attention(1, 64), attention(4, 32)];
  expect(kvShapeOf({ layers })).toEqual([
    { layers: 2, heads: 4, headSize: 32 },
    { layers: 1, heads: 1, headSize: 64 },
  ]);
});
