import type { DecoderSpec } from "../models/decoder-spec";

/** Layers that keep alike keys and values: of each position two (key and value) of `heads` heads of `headSize` numbers. */
export interface KvShape {
  layers: number;
  heads: number;
  headSize: number;
}

/** Of a model's layers, in the order of their first one. Layers without attention keep no keys and values. */
export function kvShapeOf({ layers }: Pick<DecoderSpec, "layers">): KvShape[] {
  const shapes: KvShape[] = [];
  for (const { mixer } of layers) {
    if (mixer.kind !== "attention") continue;
    const { keyValueHeadCount: heads, headDim: headSize } = mixer;
    const known = shapes.find((shape) => shape.heads === heads && shape.headSize === headSize);
    if (known) known.layers++;
    else shapes.push({ layers: 1, heads, headSize });
  }
  return shapes;
}
