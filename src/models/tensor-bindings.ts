/**
 * Where a decoder's tensors come from: which ones a spec has, and of what shape, follows from the spec; an architecture
 * says only what its checkpoints call them.
 */
import { WordloomError } from "../errors";
import type { AttentionSpec, ConvolutionSpec, DecoderSpec, LayerSpec, NormSpec, TensorBinding } from "./decoder-spec";

/** One checkpoint tensor, or the weight and the bias of one module: its name without ".weight". */
export type Source = string | ({ from: string; transpose?: boolean } & Pick<TensorBinding, "rows" | "offset">);

type LayerTensor =
  | ("mixer_norm" | "q" | "k" | "v" | "q_norm" | "k_norm" | "output" | "mixer_post_norm")
  | ("input_gate" | "output_gate" | "convolved" | "convolution" | "convolution_output")
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
    mixer_norm: "input_layernorm",
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

/** A weight, and maybe a bias, which has a number for each row of a matrix; a norm has one row. */
interface Module<Name extends string = string> {
  name: Name;
  rows: number;
  columns: number;
  bias: boolean;
  /** Where it is not the rows' count. */
  biasWidth?: number;
}

function normModule<Name extends string>(name: Name, { bias }: NormSpec, columns: number): Module<Name> {
  return { name, rows: 1, columns, bias, biasWidth: columns };
}

function layerModules(layer: LayerSpec, width: number): Module<LayerTensor>[] {
  const { mixer, mixerNorm, mixerPostNorm, mlp, mlpNorm, mlpPostNorm } = layer;
  const norm = (name: LayerTensor, spec: NormSpec | undefined) =>
    spec === undefined ? [] : [normModule(name, spec, width)];
  const inner = mlp.intermediateSize;
  return [
    ...norm("mixer_norm", mixerNorm),
    ...(mixer.kind === "attention" ? attentionModules(mixer, width) : convolutionModules(mixer, width)),
    ...norm("mixer_post_norm", mixerPostNorm),
    ...norm("mlp_norm", mlpNorm === "mixer_norm" ? undefined : mlpNorm),
    ...(mlp.kind === "gated" ? [{ name: "gate" as const, rows: inner, columns: width, bias: mlp.bias }] : []),
    { name: "up", rows: inner, columns: width, bias: mlp.bias },
    { name: "down", rows: width, columns: inner, bias: mlp.bias },
    ...norm("mlp_post_norm", mlpPostNorm),
  ];
}

function attentionModules(
  { headCount, keyValueHeadCount, headDim, queryKeyNorm, qkvBias, outputBias }: AttentionSpec,
  width: number,
): Module<LayerTensor>[] {
  const [queries, keys] = [headCount * headDim, keyValueHeadCount * headDim];
  const norm = (name: LayerTensor, columns: number) =>
    queryKeyNorm === undefined
      ? []
      : [normModule(name, queryKeyNorm, queryKeyNorm.over === "head" ? headDim : columns)];
  return [
    { name: "q", rows: queries, columns: width, bias: qkvBias },
    { name: "k", rows: keys, columns: width, bias: qkvBias },
    { name: "v", rows: keys, columns: width, bias: qkvBias },
    ...norm("q_norm", queries),
    ...norm("k_norm", keys),
    { name: "output", rows: width, columns: queries, bias: outputBias },
  ];
}

function convolutionModules({ taps, bias }: ConvolutionSpec, width: number): Module<LayerTensor>[] {
  const matrix = (name: LayerTensor) => ({ name, rows: width, columns: width, bias });
  return [
    ...(["input_gate", "output_gate", "convolved"] as const).map(matrix),
    { name: "convolution", rows: taps, columns: width, bias, biasWidth: width },
    matrix("convolution_output"),
  ];
}

function bind(
  { name, rows, columns, bias, biasWidth = rows }: Module,
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
  const shift = { name: `${name}.bias`, shape: [1, biasWidth] as const, from: names(`${from}.bias`), transpose: false };
  return [weight, { ...shift, ...fused }];
}
