/**
 * Where a decoder's tensors come from: which ones a spec has, and of what shape, follows from the spec; an architecture
 * says only what its checkpoints call them.
 */
import { WordloomError } from "../errors";
import type { DecoderSpec, LayerSpec, NormSpec, TensorBinding } from "./decoder-spec";

/** One checkpoint tensor, or the weight and the bias of one module: its name without ".weight". */
export type Source = string | ({ from: string; transpose?: boolean } & Pick<TensorBinding, "rows" | "offset">);

type LayerTensor =
  | ("attention_norm" | "q" | "k" | "v" | "q_norm" | "k_norm" | "output" | "attention_post_norm")
  | ("mlp_norm" | "gate" | "up" | "down" | "mlp_post_norm");

/** A checkpoint's names, as transformers writes them. */
export interface CheckpointNames {
  /** Before all names but the head's; some exports leave it out. */
  prefix: string;
  token_embedding: string;
  position_embedding?: string;
  /** Before the layer's number: "layers" in "model.layers.0.mlp.up_proj.weight". */
  layers: string;
  /** After the layer's number; those that the spec has. */
  layer: Readonly<Partial<Record<LayerTensor, Source>>>;
  final_norm: Source;
  /** The usual name first; never prefixed. */
  head: readonly [string, ...string[]];
}

/** The names that Llama's classes in transformers use, and with them most architectures since. */
export const LLAMA_NAMES = {
  prefix: "model.",
  token_embedding: "embed_tokens",
  layers: "layers",
  layer: {
    attention_norm: "input_layernorm",
    q: "self_attn.q_proj",
    k: "self_attn.k_proj",
    v: "self_attn.v_proj",
    output: "self_attn.o_proj",
    mlp_norm: "post_attention_layernorm",
    gate: "mlp.gate_proj",
    up: "mlp.up_proj",
    down: "mlp.down_proj",
  },
  final_norm: "norm",
  head: ["lm_head"],
} satisfies CheckpointNames;

/** @throws internal where the spec has a tensor that `names` does not name: a fault of the architecture's file */
export function bindTensors(spec: Omit<DecoderSpec, "tensors">, names: CheckpointNames): TensorBinding[] {
  const { hiddenSize: width, vocabSize, finalNorm, head, learnedPositions } = spec;
  const prefixed = (name: string) => [names.prefix + name, name];
  const table = (name: string, rows: number, source: Source | undefined): TensorBinding[] =>
    bind({ name, rows, columns: width, bias: false }, source, prefixed).map((tensor) => ({ ...tensor, name }));
  const headModule = bind({ name: "head", rows: vocabSize, columns: width, bias: head.bias }, "", (part) =>
    names.head.map((name) => name + part),
  );
  return [
    ...table("token_embedding", vocabSize, names.token_embedding),
    ...(learnedPositions === undefined
      ? []
      : table("position_embedding", learnedPositions.length, names.position_embedding)),
    ...spec.layers.flatMap((layer, index) =>
      layerModules(layer, width).flatMap((module) =>
        bind({ ...module, name: `layers.${index}.${module.name}` }, names.layer[module.name], (name) =>
          prefixed(`${names.layers}.${index}.${name}`),
        ),
      ),
    ),
    ...bind(normModule("final_norm", finalNorm, width), names.final_norm, prefixed),
    ...(head.tied ? headModule.slice(1) : headModule), // a tied head has no matrix of its own
  ];
}

/** A weight, and maybe a bias; a norm has one row. */
interface Module<Name extends string = string> {
  name: Name;
  rows: number;
  columns: number;
  bias: boolean;
}

function normModule<Name extends string>(name: Name, { bias }: NormSpec, columns: number): Module<Name> {
  return { name, rows: 1, columns, bias };
}

function layerModules(layer: LayerSpec, width: number): Module<LayerTensor>[] {
  const { attention, attentionNorm, attentionPostNorm, mlp, mlpNorm, mlpPostNorm } = layer;
  const { headDim, queryKeyNorm, qkvBias } = attention;
  const queries = attention.headCount * headDim;
  const keys = attention.keyValueHeadCount * headDim;
  const norm = (name: LayerTensor, spec: NormSpec | undefined, columns = width) =>
    spec === undefined ? [] : [normModule(name, spec, columns)];
  const inner = mlp.intermediateSize;
  const perHead = queryKeyNorm?.over === "head";
  return [
    ...norm("attention_norm", attentionNorm),
    { name: "q", rows: queries, columns: width, bias: qkvBias },
    { name: "k", rows: keys, columns: width, bias: qkvBias },
    { name: "v", rows: keys, columns: width, bias: qkvBias },
    ...norm("q_norm", queryKeyNorm, perHead ? headDim : queries),
    ...norm("k_norm", queryKeyNorm, perHead ? headDim : keys),
    { name: "output", rows: width, columns: queries, bias: attention.outputBias },
    ...norm("attention_post_norm", attentionPostNorm),
    ...norm("mlp_norm", mlpNorm === "attention_norm" ? undefined : mlpNorm),
    ...(mlp.kind === "gated" ? [{ name: "gate" as const, rows: inner, columns: width, bias: mlp.bias }] : []),
    { name: "up", rows: inner, columns: width, bias: mlp.bias },
    { name: "down", rows: width, columns: inner, bias: mlp.bias },
    ...norm("mlp_post_norm", mlpPostNorm),
  ];
}

function bind(
  { name, rows, columns, bias }: Module,
  source: Source | undefined,
  names: (name: string) => readonly string[],
): TensorBinding[] {
  if (source === undefined) throw new WordloomError("internal", `the architecture does not say what ${name} is called`);
  const { from, transpose = false, rows: part, offset } = typeof source === "string" ? { from: source } : source;
  const fused = part === undefined ? {} : { rows: part };
  const weight: TensorBinding = {
    name: `${name}.weight`,
    shape: [rows, columns],
    from: names(`${from}.weight`),
    transpose,
    ...fused,
    ...(offset === undefined ? {} : { offset }),
  };
  if (!bias) return [weight];
  const width = rows === 1 ? columns : rows; // a norm's, or a matrix's
  const shift = { name: `${name}.bias`, shape: [1, width] as const, from: names(`${from}.bias`), transpose: false };
  return [weight, { ...shift, ...fused }];
}
