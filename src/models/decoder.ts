/**
 * The one decoder: walks a `DecoderSpec` and emits the operations that compute it. Nothing is fused here.
 *
 *   x = embed(tokens)
 *   per layer:  x += output(attention(q, k, v of norm(x)));   x += down(activation(gate, up of norm(x)))
 *   logits = head(norm(x))
 *
 * A spec may leave a norm out, put one after a block, normalize q and k, scale what is added, let both blocks read
 * the same x (parallel), or have a short convolution in attention's place.
 *
 * Source: Vaswani et al. 2017, with the norm before each block (Xiong et al. 2020, "pre-LN").
 */
import type { AttentionSpec, ConvolutionSpec, DecoderSpec, LayerSpec, NormSpec, TensorName } from "./decoder-spec";
import type { DecoderProgram, Operation, ValueName } from "./operations";

export function emit(spec: DecoderSpec): DecoderProgram {
  const { hiddenSize: width, vocabSize, head } = spec;
  const embed: Operation = {
    op: "embed",
    table: "token_embedding",
    positions: spec.learnedPositions === undefined ? undefined : "position_embedding",
    scale: spec.embeddingScale,
    to: "x",
    width,
  };
  const { scale = 1, softcap } = head;
  const adjusted = scale !== 1 || softcap !== undefined;
  const product = linear("final_norm", adjusted ? "head_product" : "logits", "head", width, vocabSize, head.bias);
  return {
    body: [embed, ...spec.layers.flatMap((layer, index) => emitLayer(layer, index, width))],
    head: [
      norm("x", "final_norm", "final_norm", spec.finalNorm, width),
      head.tied ? { ...product, weight: "token_embedding" } : product,
      ...(adjusted
        ? [{ op: "logits" as const, from: "head_product", to: "logits", width: vocabSize, scale, softcap }]
        : []),
    ],
  };
}

function emitLayer(layer: LayerSpec, index: number, width: number): Operation[] {
  const at = `layers.${index}.`;
  const scale = layer.residualScale ?? 1;
  const mixer = emitMixer(layer, index, width);
  const mlp = emitMlp(layer, at, width);
  const addMixer = emitAdd(mixer.last, layer.mixerPostNorm, "mixer_post_norm");
  const addMlp = emitAdd(mlp.last, layer.mlpPostNorm, "mlp_post_norm");
  // Parallel: both blocks read x before either is added to it.
  return layer.residual === "parallel"
    ? [...mixer.operations, ...mlp.operations, ...addMixer, ...addMlp]
    : [...mixer.operations, ...addMixer, ...mlp.operations, ...addMlp];

  function emitAdd(product: Operation, post: NormSpec | undefined, postName: string): Operation[] {
    const add = (from: ValueName): Operation => ({ op: "add", from, to: "x", width, scale });
    if (post === undefined) return [product, add(product.to)];
    return [product, norm(product.to, at + postName, at + postName, post, width), add(at + postName)];
  }
}

/** What comes before a block's last product, and that product, whose result is added to x. */
interface Block {
  operations: Operation[];
  last: Operation;
}

function emitMixer({ mixerNorm, mixer }: LayerSpec, layer: number, width: number): Block {
  const input = mixerNorm === undefined ? "x" : `layers.${layer}.mixer_norm`;
  const { operations, last } =
    mixer.kind === "attention"
      ? emitAttention(mixer, input, layer, width)
      : emitConvolution(mixer, input, layer, width);
  return {
    operations: [...(mixerNorm === undefined ? [] : [norm("x", input, input, mixerNorm, width)]), ...operations],
    last,
  };
}

function emitAttention(spec: AttentionSpec, input: ValueName, layer: number, width: number): Block {
  const at = `layers.${layer}.`;
  const { headCount, keyValueHeadCount, headDim, queryKeyNorm } = spec;
  const queryWidth = headCount * headDim;
  const project = (name: string, heads: number) =>
    linear(input, at + name, at + name, width, heads * headDim, spec.qkvBias);
  const normalize = (name: string, heads: number): Operation[] => {
    if (queryKeyNorm === undefined) return [];
    const { over, ...norms } = queryKeyNorm;
    const [from, to] = [at + name, `${at}${name}_norm`];
    if (over === "all") return [norm(from, to, to, norms, heads * headDim)];
    return [{ op: "head_norm", from, to, spec: norms, ...tensors(to, norms.bias), headCount: heads, headDim }];
  };
  const [q, k] = queryKeyNorm === undefined ? [`${at}q`, `${at}k`] : [`${at}q_norm`, `${at}k_norm`];
  return {
    operations: [
      project("q", headCount),
      project("k", keyValueHeadCount),
      project("v", keyValueHeadCount),
      ...normalize("q", headCount),
      ...normalize("k", keyValueHeadCount),
      { op: "attention", layer, q, k, v: `${at}v`, to: `${at}attention`, spec },
    ],
    last: linear(`${at}attention`, `${at}output`, `${at}output`, queryWidth, width, spec.outputBias),
  };
}

function emitConvolution({ taps, bias }: ConvolutionSpec, input: ValueName, layer: number, width: number): Block {
  const at = `layers.${layer}.`;
  const [to, output] = [`${at}convolution`, `${at}convolution_output`];
  const [inputGate, outputGate, convolved] = [`${at}input_gate`, `${at}output_gate`, `${at}convolved`];
  const project = (name: string) => linear(input, name, name, width, width, bias);
  return {
    operations: [
      ...[inputGate, outputGate, convolved].map(project),
      { op: "convolution", layer, inputGate, outputGate, convolved, to, ...tensors(to, bias), taps, width },
    ],
    last: linear(to, output, output, width, width, bias),
  };
}

function emitMlp({ mixerNorm, mlpNorm, mlp }: LayerSpec, at: string, width: number): Block {
  const inner = mlp.intermediateSize;
  const gated = mlp.kind === "gated";
  const shared = mlpNorm === "mixer_norm";
  const spec = shared ? mixerNorm : mlpNorm;
  const input = spec === undefined ? "x" : `${at}mlp_norm`;
  return {
    operations: [
      ...(spec === undefined ? [] : [norm("x", input, shared ? `${at}mixer_norm` : input, spec, width)]),
      ...(gated ? [linear(input, `${at}gate`, `${at}gate`, width, inner, mlp.bias)] : []),
      linear(input, `${at}up`, `${at}up`, width, inner, mlp.bias),
      {
        op: "activation",
        gate: gated ? `${at}gate` : `${at}up`,
        up: gated ? `${at}up` : undefined,
        to: `${at}activation`,
        activation: mlp.activation,
        width: inner,
      },
    ],
    last: linear(`${at}activation`, `${at}down`, `${at}down`, inner, width, mlp.bias),
  };
}

/** @param tensor the tensors' common name, before ".weight" and ".bias" */
function norm(from: ValueName, to: ValueName, tensor: string, spec: NormSpec, width: number): Operation {
  return {
    op: "norm",
    from,
    to,
    spec,
    ...tensors(tensor, spec.bias),
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
    ...tensors(tensor, bias),
    inputs,
    outputs,
  };
}

type LinearOperation = Extract<Operation, { op: "linear" }>;

function tensors(tensor: string, bias: boolean): { weight: TensorName; bias: TensorName | undefined } {
  return { weight: `${tensor}.weight`, bias: bias ? `${tensor}.bias` : undefined };
}

/**
 * How many numbers each layer keeps of a position in the KV cache, array by array: keys and values, or what is
 * convolved. Of all positions, also in a convolution: going back to an earlier one is then setting a number.
 */
export function keptPerPosition({ layers, hiddenSize }: Pick<DecoderSpec, "layers" | "hiddenSize">): number[][] {
  return layers.map(({ mixer }) => {
    if (mixer.kind === "convolution") return [hiddenSize];
    const width = mixer.keyValueHeadCount * mixer.headDim;
    return [width, width];
  });
}

/** Numbers a model learned; a tied head counts once. */
export function countParameters(spec: DecoderSpec): number {
  return spec.tensors.reduce((sum, { shape: [rows, columns] }) => sum + rows * columns, 0);
}

/**
 * The tensors that a backend holds in the chosen dtype: matrices of linear operations and the token embedding. Norms,
 * biases, convolutions and learned positions are few, and stay float32.
 */
export function weightMatrices({ body, head }: DecoderProgram): ReadonlySet<TensorName> {
  const names = [...body, ...head].map((operation) => {
    if (operation.op === "linear") return operation.weight;
    return operation.op === "embed" ? operation.table : undefined;
  });
  return new Set(names.filter((name) => name !== undefined));
}
