/**
 * GPT-Neo (and TinyStories): GPT-2's layers with separate q, k and v without biases, scores that are not scaled, and a
 * window in the layers called "local".
 *
 * Source: Black et al. 2021, "GPT-Neo"; defaults as in transformers' `models/gpt_neo`.
 */
import { attentionOf, decoderOf, readLayerNorm } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec } from "./decoder-spec";
import { ACTIVATIONS, SIZE_LIMITS } from "./sizes";
import type { CheckpointNames } from "./tensor-bindings";

export function readGptNeo(config: ConfigReader): DecoderSpec {
  const hiddenSize = config.integer("hidden_size", SIZE_LIMITS.hiddenSize);
  const headCount = config.integer("num_heads", SIZE_LIMITS.headCount);
  if (hiddenSize % headCount !== 0) {
    throw config.invalid("num_heads", headCount, `it does not divide hidden_size, ${hiddenSize}`);
  }
  const layerCount = config.integer("num_layers", SIZE_LIMITS.layerCount);
  const contextLength = config.integer("max_position_embeddings", { ...SIZE_LIMITS.contextLength, fallback: 2048 });
  const headDim = hiddenSize / headCount;
  const sizes = { hiddenSize, headCount, keyValueHeadCount: headCount, headDim, layerCount, contextLength };
  const norm = readLayerNorm(config, "layer_norm_epsilon");
  const window = config.integer("window_size", { ...SIZE_LIMITS.contextLength, fallback: 256 });
  const mlp = {
    kind: "plain" as const,
    activation: config.choice("activation_function", ACTIVATIONS, "gelu_new"),
    intermediateSize: config.integer("intermediate_size", {
      ...SIZE_LIMITS.intermediateSize,
      fallback: 4 * hiddenSize,
    }),
    bias: true,
  };
  const layers = readAttentionLayers(config, layerCount).map((reach) => ({
    mixerNorm: norm,
    mixer: attentionOf(sizes, undefined, {
      scale: 1,
      window: reach === "local" ? window : undefined,
      outputBias: true,
    }),
    mlpNorm: norm,
    mlp,
  }));
  const architecture = { modelType: "gpt_neo", layers, finalNorm: norm, tied: true, learnedPositions: contextLength };
  return decoderOf(config, sizes, architecture, NAMES);
}

type Reach = "global" | "local";
const isReach = (value: unknown): value is Reach => value === "global" || value === "local";

/** `attention_types`, e.g. [[["global", "local"], 6]] for 12 layers; `attention_layers` is the same, written out. */
function readAttentionLayers(config: ConfigReader, layerCount: number): Reach[] {
  const stated = config.list("attention_layers", layerCount, isReach);
  const types = config.take("attention_types") ?? (stated === undefined ? [[["global", "local"], 12]] : []);
  if (!Array.isArray(types)) throw config.invalid("attention_types", types, "a list is expected");
  const expanded = types.flatMap((group: unknown) => {
    const [reaches, count] = Array.isArray(group) ? (group as unknown[]) : [];
    const whole = Array.isArray(reaches) && reaches.every(isReach) && Number.isInteger(count);
    if (!whole || Number(count) < 0 || Number(count) > layerCount) {
      throw config.invalid(
        "attention_types",
        types,
        "lists of global and local, each with how often it comes, are expected",
      );
    }
    return Array<Reach[]>(Number(count)).fill(reaches).flat();
  });
  const layers = expanded.length === 0 ? (stated ?? []) : expanded;
  if (layers.length !== layerCount) {
    throw config.invalid("attention_types", types, `it says ${layers.length} layers; num_layers is ${layerCount}`);
  }
  if (stated?.some((reach, layer) => reach !== layers[layer])) {
    throw config.invalid("attention_layers", stated, "attention_types is set, too, and says something else");
  }
  return layers;
}

const NAMES: CheckpointNames = {
  prefix: "transformer.",
  token_embedding: "wte",
  position_embedding: "wpe",
  layers: "h",
  layer: {
    mixer_norm: "ln_1",
    q: "attn.attention.q_proj",
    k: "attn.attention.k_proj",
    v: "attn.attention.v_proj",
    output: "attn.attention.out_proj",
    mlp_norm: "ln_2",
    up: "mlp.c_fc",
    down: "mlp.c_proj",
  },
  final_norm: "ln_f",
  head: ["lm_head"],
};
