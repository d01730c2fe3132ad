/**
 * Gemma 2: soft-caps on scores and logits; every other layer has a window. The rest is in gemma.ts.
 *
 * Source: Gemma Team 2024, "Gemma 2"; defaults as in transformers' `models/gemma2`.
 */
import { readSizes } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec } from "./decoder-spec";
import { readGemma } from "./gemma";
import { readRope } from "./rope-config";

export function readGemma2(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 8192, keyValueHeadCount: 4, headDim: 256 });
  const rope = readRope(config, sizes);
  return readGemma(config, sizes, {
    modelType: "gemma2",
    ropes: { full_attention: rope, sliding_attention: rope },
    slides: (layer) => layer % 2 === 0,
    softcaps: { attention: 50, head: 30 },
    queryKeyNorm: false,
  });
}
