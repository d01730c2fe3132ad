/**
 * Tiny models with all that a `DecoderSpec` can ask for, combined as no golden checkpoint has it; for tests of backends.
 */
import { emit } from "../models/decoder";
import type {
  AttentionSpec,
  ConvolutionSpec,
  DecoderSpec,
  LayerSpec,
  NormSpec,
  TensorBinding,
  TensorName,
} from "../models/decoder-spec";
import { attentionIn } from "./attention-in";
import { tinyModel, tinyValues, type TinyModel } from "./tiny-models";
import { seededRandom } from "./random";

interface Variation {
  layer?: Partial<LayerSpec>;
  /** Of the second layer, where it differs from the first. */
  secondAttention?: Partial<AttentionSpec>;
  attention?: Partial<AttentionSpec>;
  /** In place of the second layer's attention. */
  convolution?: ConvolutionSpec;
  head?: Partial<DecoderSpec["head"]>;
  /** Linear operations without the bias that all others have. */
  withoutBias?: RegExp;
}

const rms: NormSpec = { kind: "rms", eps: 1e-2, bias: false };
const layerNorm: NormSpec = { kind: "layer", eps: 1e-2, bias: true };

const VARIATIONS = {
  /** Gemma 2 and 3, Granite. */
  "norms around each block": {
    layer: { mixerPostNorm: rms, mlpPostNorm: layerNorm, residualScale: 0.4 },
    attention: { queryKeyNorm: { ...rms, over: "head" }, softcap: 2, window: 6 },
    secondAttention: { window: undefined },
    head: { scale: 0.7, softcap: 5 },
  },
  /** OLMo 2. */
  "norms after blocks only": {
    layer: { mixerNorm: undefined, mixerPostNorm: rms, mlpNorm: undefined, mlpPostNorm: rms },
    attention: { queryKeyNorm: { ...rms, over: "all" } },
  },
  /** Phi, StableLM; biases as in no model. */
  "parallel blocks of one norm": {
    layer: { mixerNorm: layerNorm, mlpNorm: "mixer_norm", residual: "parallel", residualScale: 0.5 },
    attention: { queryKeyNorm: { ...layerNorm, over: "head" }, qkvBias: true },
    head: { scale: 2, bias: true },
    withoutBias: /\.k$/,
  },
  /** LFM2, with a norm after the block as in no model. */
  "a short convolution": {
    layer: { mixerPostNorm: rms },
    attention: { queryKeyNorm: { ...rms, over: "head" } },
    convolution: { kind: "convolution", taps: 3, bias: true },
  },
} satisfies Record<string, Variation>;

export type VariedName = keyof typeof VARIATIONS;
export const VARIED_NAMES = Object.keys(VARIATIONS) as readonly VariedName[];

export interface VariedModel extends TinyModel {
  program: ReturnType<typeof emit>;
}

export function variedModel(name: VariedName): VariedModel {
  const { layer, attention, secondAttention, convolution, head, withoutBias }: Variation = VARIATIONS[name];
  const { spec: plain } = tinyModel({ kind: "llama" });
  const bare: DecoderSpec = {
    ...plain,
    layers: plain.layers.map((spec, index) => ({
      ...spec,
      ...layer,
      mixer:
        index === 1 && convolution !== undefined
          ? convolution
          : withMagnitude({ ...attentionIn(spec), ...attention, ...(index === 1 ? secondAttention : {}) }),
    })),
    head: { ...plain.head, ...head },
  };
  const emitted = emit(bare);
  const keepBias = ({ to }: { to: string }) => !withoutBias?.test(to);
  const unbiased = (operations: (typeof emitted)["body"]) =>
    operations.map((each) => (each.op === "linear" && !keepBias(each) ? { ...each, bias: undefined } : each));
  const program = { body: unbiased(emitted.body), head: unbiased(emitted.head) };
  const spec = { ...bare, tensors: tensorsOf(program, bare) };
  const random = seededRandom(3);
  return { spec, program, weights: new Map(spec.tensors.map((tensor) => [tensor.name, tinyValues(tensor, random)])) };
}

/** As YaRN has it. */
const withMagnitude = (spec: AttentionSpec): AttentionSpec => ({
  ...spec,
  rope: spec.rope && { ...spec.rope, magnitude: 1.2 },
});

/** What the operations name, with their shapes. */
function tensorsOf({ body, head }: ReturnType<typeof emit>, spec: DecoderSpec): TensorBinding[] {
  const shapes = new Map<TensorName, readonly [rows: number, columns: number]>();
  for (const operation of [...body, ...head]) {
    switch (operation.op) {
      case "embed":
        shapes.set(operation.table, [spec.vocabSize, operation.width]);
        break;
      case "linear":
        shapes.set(operation.weight, [operation.outputs, operation.inputs]);
        if (operation.bias !== undefined) shapes.set(operation.bias, [1, operation.outputs]);
        break;
      case "convolution":
        shapes.set(operation.weight, [operation.taps, operation.width]);
        if (operation.bias !== undefined) shapes.set(operation.bias, [1, operation.width]);
        break;
      case "norm":
      case "head_norm": {
        const width = operation.op === "norm" ? operation.width : operation.headDim;
        shapes.set(operation.weight, [1, width]);
        if (operation.bias !== undefined) shapes.set(operation.bias, [1, width]);
      }
    }
  }
  return [...shapes].map(([name, shape]) => ({ name, shape, from: [name], transpose: false }));
}
