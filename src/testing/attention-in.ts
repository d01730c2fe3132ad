import type { AttentionSpec, LayerSpec } from "../models/decoder-spec";

/** The attention of a layer that must have one. */
export function attentionIn(layer: LayerSpec | undefined): AttentionSpec {
  if (layer?.mixer.kind !== "attention")
    throw new Error(`the layer has ${layer?.mixer.kind ?? "nothing"}, no attention`);
  return layer.mixer;
}
