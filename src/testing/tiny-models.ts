/** Tiny models with seeded random weights, made in memory, for kernel and backend tests. */
import type { WeightSink } from "../backends/backend";
import type { DecoderSpec, TensorBinding, TensorName } from "../models/decoder-spec";
import { readModelConfig } from "../models/registry";
import { normalValues, seededRandom } from "./random";

export interface TinyModelOptions {
  kind: "llama" | "gpt2";
  /** Default: odd sizes (hidden 36, 3 heads of 12, 1 key/value head, intermediate 52, vocabulary 65, 2 layers). */
  hidden?: number;
  heads?: number;
  /** llama only. */
  keyValueHeads?: number;
  /** llama only; default hidden / heads. */
  headDim?: number;
  intermediate?: number;
  vocab?: number;
  layers?: number;
  context?: number;
  /** Default: true. */
  tied?: boolean;
  seed?: number;
  /** Further or changed keys of config.json. */
  config?: Readonly<Record<string, unknown>>;
}

export interface TinyModel {
  spec: DecoderSpec;
  /** Row-major [rows, columns], for every tensor of `spec`. */
  weights: Map<TensorName, Float32Array>;
}

export function tinyModel(options: TinyModelOptions): TinyModel {
  const { spec } = readModelConfig({ ...tinyConfig(options), ...options.config }, undefined);
  const random = seededRandom(options.seed ?? 1);
  return { spec, weights: new Map(spec.tensors.map((tensor) => [tensor.name, tinyValues(tensor, random)])) };
}

/** Writes every tensor, at most `rowsPerWrite` rows at once. */
export async function fillSink(sink: WeightSink, model: TinyModel, rowsPerWrite = 7): Promise<void> {
  for (const { name, shape } of model.spec.tensors) {
    const [rows, columns] = shape;
    const values = weightOf(model, name);
    for (let row = 0; row < rows; row += rowsPerWrite) {
      sink.write(name, row, values.slice(row * columns, (row + rowsPerWrite) * columns));
    }
    await sink.drained();
  }
}

/** @throws if the model has no such tensor */
export function weightOf({ weights }: TinyModel, name: TensorName): Float32Array {
  const values = weights.get(name);
  if (values === undefined) throw new Error(`the tiny model has no ${name}`);
  return values;
}

function tinyConfig(options: TinyModelOptions): Record<string, unknown> {
  const {
    kind,
    hidden = 36,
    heads = 3,
    intermediate = 52,
    vocab = 65,
    layers = 2,
    context = 96,
    tied = true,
  } = options;
  const common = { model_type: kind, vocab_size: vocab, tie_word_embeddings: tied, eos_token_id: 0 };
  if (kind === "gpt2") {
    return { ...common, n_embd: hidden, n_head: heads, n_inner: intermediate, n_layer: layers, n_positions: context };
  }
  return {
    ...common,
    hidden_size: hidden,
    num_attention_heads: heads,
    num_key_value_heads: options.keyValueHeads ?? 1,
    head_dim: options.headDim ?? null,
    intermediate_size: intermediate,
    num_hidden_layers: layers,
    max_position_embeddings: context,
    rms_norm_eps: 1e-5,
  };
}

/** Norm weights near 1, biases small but felt, matrices that keep the size of what they multiply. */
export function tinyValues({ name, shape: [rows, columns] }: TensorBinding, random: () => number): Float32Array {
  if (name.endsWith("norm.weight")) return normalValues(random, columns, 0.2, 1);
  if (name.endsWith(".bias")) return normalValues(random, rows * columns, 0.2);
  if (name === "token_embedding" || name === "position_embedding") return normalValues(random, rows * columns, 0.5);
  return normalValues(random, rows * columns, 1.2 / Math.sqrt(columns));
}
