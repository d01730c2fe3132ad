/**
 * SmolLM3: Llama's layers, of which every fourth does not turn q and k ("NoPE").
 *
 * Source: Yang et al. 2025, "Rope to Nope and Back Again"; defaults as in transformers' `models/smollm3`.
 */
import { attentionOf, decoderOf, readMlp, readRmsNorm, readSizes } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec } from "./decoder-spec";
import { readLayerTypes, readWindow, windowsOf } from "./layer-types";
import { readRope } from "./rope-config";
import { SIZE_LIMITS } from "./sizes";
import { LLAMA_NAMES } from "./tensor-bindings";

export function readSmollm3(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 32768, keyValueHeadCount: 4 });
  const norm = readRmsNorm(config, 1e-6);
  const rope = readRope(config, sizes, { theta: 2e6 });
  const bias = config.boolean("attention_bias", false);
  const mlp = readMlp(config, "gated", { bias: config.boolean("mlp_bias", false) });
  const every = config.integer("no_rope_layer_interval", { ...SIZE_LIMITS.layerCount, fallback: 4 });
  // 1 for layers that turn, 0 for those that do not, in spite of the name.
  const isFlag = (value: unknown): value is 0 | 1 => value === 0 || value === 1;
  const stated = config.list("no_rope_layers", sizes.layerCount, isFlag);
  const turns = (layer: number) => (stated === undefined ? (layer + 1) % every !== 0 : stated[layer] === 1);
  const statedWindow = readWindow(config, undefined);
  const window = config.boolean("use_sliding_window", false) ? statedWindow : undefined;
  const types = readLayerTypes(config, sizes.layerCount, (layer) =>
    window !== undefined && !turns(layer) ? "sliding_attention" : "full_attention",
  );
  // In this family's files, and read by no class of transformers.
  for (const key of ["pretraining_tp", "max_window_layers"]) config.isSet(key);
  const layers = windowsOf(config, types, window).map((of, layer) => ({
    mixerNorm: norm,
    mixer: attentionOf(sizes, turns(layer) ? rope : undefined, { window: of, qkvBias: bias, outputBias: bias }),
    mlpNorm: norm,
    mlp,
  }));
  return decoderOf(config, sizes, { modelType: "smollm3", layers, finalNorm: norm, tied: true }, LLAMA_NAMES);
}
