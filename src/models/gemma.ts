/**
 * What Gemma 2 and 3 share: embeddings times sqrt(hidden size), norms before and after each block that hold weight − 1,
 * a gated MLP with GELU, a query scale of its own, layers with and without a window.
 *
 * Source: Gemma Team 2024, "Gemma 2"; defaults as in transformers' `models/gemma2`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, type Sizes } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, RopeSpec } from "./decoder-spec";
import { readLayerTypes, readWindow, windowsOf, type LayerType } from "./layer-types";
import { LLAMA_NAMES, type CheckpointNames } from "./tensor-bindings";

export interface GemmaVariant {
  modelType: string;
  ropes: Record<LayerType, RopeSpec>;
  /** Where `layer_types` is not set: whether this layer has a window. */
  slides: (layer: number) => boolean;
  /** Where the keys are absent. */
  softcaps: { attention: number | undefined; head: number | undefined };
  queryKeyNorm: boolean;
}

export function readGemma(config: ConfigReader, sizes: Sizes, variant: GemmaVariant): DecoderSpec {
  const { modelType, ropes, softcaps, slides } = variant;
  const norm = readRmsNorm(config, 1e-6);
  const bias = config.boolean("attention_bias", false);
  const types = readLayerTypes(config, sizes.layerCount, (layer) =>
    slides(layer) ? "sliding_attention" : "full_attention",
  );
  const window = readWindow(config, 4096);
  const windows = windowsOf(config, types, window);
  if (window !== undefined) config.only("sliding_window_size", window); // in some files of Gemma 2, beside the other
  const scalar = config.number("query_pre_attn_scalar", { min: 1e-3, max: 1e6, fallback: 256 });
  const attention = {
    scale: 1 / Math.sqrt(scalar),
    softcap: readSoftcap(config, "attn_logit_softcapping", softcaps.attention),
    ...(variant.queryKeyNorm ? { queryKeyNorm: { ...norm, over: "head" as const } } : {}),
    qkvBias: bias,
    outputBias: bias,
  };
  const mlp = readMlp(config, "gated", { bias: false, activation: ["hidden_activation", "gelu_pytorch_tanh"] });
  config.isSet("hidden_act"); // an older key, which transformers does not read for these models
  config.only("use_bidirectional_attention", false);
  const layers = types.map((type, layer) => ({
    mixerNorm: norm,
    mixer: attentionOf(sizes, ropes[type], { ...attention, window: windows[layer] }),
    mixerPostNorm: norm,
    mlpNorm: norm,
    mlp,
    mlpPostNorm: norm,
  }));
  const head = { softcap: readSoftcap(config, "final_logit_softcapping", softcaps.head) };
  const embeddingScale = Math.sqrt(sizes.hiddenSize);
  return decoderOf(config, sizes, { modelType, layers, finalNorm: norm, tied: true, head, embeddingScale }, NAMES);
}

/** Null switches it off. */
function readSoftcap(config: ConfigReader, key: string, fallback: number | undefined): number | undefined {
  if (config.isAbsent(key)) return fallback;
  return config.isSet(key) ? config.number(key, { min: 1e-3, max: 1e6 }) : undefined;
}

const norm = (from: string) => ({ from, offset: 1 });

const NAMES: CheckpointNames = {
  ...LLAMA_NAMES,
  layer: {
    ...LLAMA_NAMES.layer,
    mixer_norm: norm("input_layernorm"),
    q_norm: norm("self_attn.q_norm"),
    k_norm: norm("self_attn.k_norm"),
    mixer_post_norm: norm("post_attention_layernorm"),
    mlp_norm: norm("pre_feedforward_layernorm"),
    mlp_post_norm: norm("post_feedforward_layernorm"),
  },
  final_norm: norm("norm"),
};
