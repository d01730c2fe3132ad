/**
 * Phi 1, 1.5 and 2: attention and MLP read the same LayerNorm of the same x; half of each head turns; biases everywhere,
 * on the head, too.
 *
 * Source: Li et al. 2023, "Textbooks Are All You Need II"; defaults as in transformers' `models/phi`.
 */
import { attentionOf, decoderOf, readLayerNorm, readMlp, readSizes, repeat } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readRope } from "./rope-config";
import { LLAMA_NAMES, type CheckpointNames } from "./tensor-bindings";

export function readPhi(config: ConfigReader): DecoderSpec {
  const sizes = readSizes(config, { contextLength: 2048 });
  const rope = readRope(config, sizes, { rotaryFactor: 0.5 });
  const norm = readLayerNorm(config);
  const layer: LayerSpec = {
    mixerNorm: norm,
    mixer: attentionOf(sizes, rope, { qkvBias: true, outputBias: true }),
    mlpNorm: "mixer_norm",
    mlp: readMlp(config, "plain", { bias: true, activation: ["hidden_act", "gelu_new"] }),
    residual: "parallel",
  };
  config.only("qk_layernorm", false);
  const layers = repeat(layer, sizes.layerCount);
  const architecture = { modelType: "phi", layers, finalNorm: norm, tied: false, head: { bias: true } };
  return decoderOf(config, sizes, architecture, NAMES);
}

const NAMES: CheckpointNames = {
  ...LLAMA_NAMES,
  layer: { ...LLAMA_NAMES.layer, output: "self_attn.dense", up: "mlp.fc1", down: "mlp.fc2" },
  final_norm: "final_layernorm",
};
