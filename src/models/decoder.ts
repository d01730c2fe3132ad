/**
 * The one decoder: walks a `DecoderSpec` and emits the operations that compute it. Nothing is fused here.
 *
 *   x = embed(tokens)
 *   per layer:  x += output(attention(q, k, v of norm(x)));   x += down(activation(gate, up of norm(x)))
 *   logits = head(norm(x))
 *
 * Source: Vaswani et al. 2017, with the norm before each block (Xiong et al. 2020, "pre-LN").
 */
import type { DecoderSpec, LayerSpec, NormSpec, TensorName } from "./decoder-spec";
import type { DecoderProgram, Operation, ValueName } from "./operations";

export function emit(spec: DecoderSpec): DecoderProgram {
  const width = spec.hiddenSize;
  const embed: Operation = {
    op: "embed",
    table: "token_embedding",
    positions: spec.learnedPositions === undefined ? undefined : "position_embedding",
    scale: spec.embeddingScale,
    to: "x",
    width,
  };
  const head = linear("final_norm", "logits", "head", width, spec.vocabSize, spec.head.bias);
  return {
    body: [embed, ...spec.layers.flatMap((layer, index) => emitLayer(layer, `layers.${index}.`, index, width))],
    head: [
      norm("x", "final_norm", "final_norm", spec.finalNorm, width),
      spec.head.tied ? { ...head, weight: "token_embedding" } : head,
    ],
  };
}

function emitLayer(
  { attentionNorm, attention, mlpNorm, mlp }: LayerSpec,
  at: string,
  layer: number,
  width: number,
): Operation[] {
  const queryWidth = attention.headCount * attention.headDim;
  const keyValueWidth = attention.keyValueHeadCount * attention.headDim;
  const inner = mlp.intermediateSize;
  const gated = mlp.kind === "gated";
  const gate = linear(`${at}mlp_norm`, `${at}gate`, `${at}gate`, width, inner, mlp.bias);
  return [
    norm("x", `${at}attention_norm`, `${at}attention_norm`, attentionNorm, width),
    linear(`${at}attention_norm`, `${at}q`, `${at}q`, width, queryWidth, attention.qkvBias),
    linear(`${at}attention_norm`, `${at}k`, `${at}k`, width, keyValueWidth, attention.qkvBias),
    linear(`${at}attention_norm`, `${at}v`, `${at}v`, width, keyValueWidth, attention.qkvBias),
    { op: "attention", layer, q: `${at}q`, k: `${at}k`, v: `${at}v`, to: `${at}attention`, spec: attention },
    linear(`${at}attention`, `${at}output`, `${at}output`, queryWidth, width, attention.outputBias),
    { op: "add", from: `${at}output`, to: "x", width },
    norm("x", `${at}mlp_norm`, `${at}mlp_norm`, mlpNorm, width),
    ...(gated ? [gate] : []),
    linear(`${at}mlp_norm`, `${at}up`, `${at}up`, width, inner, mlp.bias),
    {
      op: "activation",
      gate: gated ? `${at}gate` : `${at}up`,
      up: gated ? `${at}up` : undefined,
      to: `${at}activation`,
      activation: mlp.activation,
      width: inner,
    },
    linear(`${at}activation`, `${at}down`, `${at}down`, inner, width, mlp.bias),
    { op: "add", from: `${at}down`, to: "x", width },
  ];
}

/** @param tensor the tensors' common name, before ".weight" and ".bias" */
function norm(from: ValueName, to: ValueName, tensor: string, spec: NormSpec, width: number): Operation {
  return {
    op: "norm",
    from,
    to,
    spec,
    weight: `${tensor}.weight`,
    bias: spec.bias ? `${tensor}.bias` : undefined,
    width,
  };
}

function linear(
  from: ValueName,
  to: ValueName,
  tensor: string,
  inputs: number,
  outputs: number,
  bias: boolean,
): LinearOperation {
  return {
    op: "linear",
    from,
    to,
    weight: `${tensor}.weight`,
    bias: bias ? `${tensor}.bias` : undefined,
    inputs,
    outputs,
  };
}

type LinearOperation = Extract<Operation, { op: "linear" }>;

/** Numbers a model learned; a tied head counts once. */
export function countParameters(spec: DecoderSpec): number {
  return spec.tensors.reduce((sum, { shape: [rows, columns] }) => sum + rows * columns, 0);
}

/**
 * The tensors that a backend holds in the chosen dtype: matrices of linear operations and the token embedding. Norms,
 * biases and learned positions are few, and stay float32.
 */
export function weightMatrices({ body, head }: DecoderProgram): ReadonlySet<TensorName> {
  const names = [...body, ...head].map((operation) => {
    if (operation.op === "linear") return operation.weight;
    return operation.op === "embed" ? operation.table : undefined;
  });
  return new Set(names.filter((name) => name !== undefined));
}
