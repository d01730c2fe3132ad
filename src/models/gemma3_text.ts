/**
 * Gemma 3's text models: norms of q and k, no soft-caps, and five layers with a window and a RoPE of their own to one that
 * sees everything. The rest is in gemma.ts.
 *
 * Source: Gemma Team 2025, "Gemma 3 Technical Report"; defaults as in transformers' `models/gemma3`.
 */
import { readSizes } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec } from "./decoder-spec";
import { readGemma } from "./gemma";
import { readRopeOfTypes } from "./rope-config";

export function readGemma3Text(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 131072, keyValueHeadCount: 4, headDim: 256 });
  // Transformers 4.5x writes the older key with an underscore. Beside layer_types it says nothing.
  const key = config.isSet("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  const every = config.integer(key, { min: 1, max: 1024, fallback: 6 });
  const cap = config.take("attn_logit_softcapping");
  if (cap !== undefined) {
    // Transformers' class has the key, and its attention takes no notice of it: what a file means by it is not known.
    throw config.unsupported("attn_logit_softcapping", cap, "supported: null");
  }
  return readGemma(config, sizes, {
    modelType: "gemma3_text",
    ropes: readRopeOfTypes(config, sizes, {
      full_attention: { theta: 1e6, key: "rope_theta", scaled: true },
      sliding_attention: { theta: 10000, key: "rope_local_base_freq", scaled: false },
    }),
    slides: (layer) => (layer + 1) % every !== 0,
    softcaps: { attention: undefined, head: undefined },
    queryKeyNorm: true,
  });
}
