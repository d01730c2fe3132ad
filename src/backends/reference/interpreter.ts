/** Interprets a decoder's operations literally, one after the other. */
import { WordloomError } from "../../errors";
import { keptPerPosition } from "../../models/decoder";
import type { AttentionSpec, DecoderSpec, TensorName } from "../../models/decoder-spec";
import type { Operation, ValueName } from "../../models/operations";
import { frequenciesFor } from "../../models/rope-frequencies";
import {
  activation,
  add,
  attention,
  convolution,
  embed,
  layerNorm,
  linear,
  logits,
  multiply,
  rmsNorm,
  rope,
} from "./operations";

export class Interpreter {
  /** Of each layer, [contextLength, …]: keys (rotated) and values, or what is convolved. */
  private readonly caches: readonly (readonly Float32Array[])[];
  readonly kvCacheBytes: number;

  /**
   * @param weight the decoder's tensors by name
   * @param roundRow what a row of keys or values becomes in the cache; undefined: float32
   */
  constructor(
    spec: DecoderSpec,
    private readonly contextLength: number,
    private readonly weight: (name: TensorName) => Float32Array,
    private readonly roundRow: ((values: Float32Array) => Float32Array) | undefined,
  ) {
    this.caches = keptPerPosition(spec).map((arrays) =>
      arrays.map((numbers) => new Float32Array(contextLength * numbers)),
    );
    this.kvCacheBytes = this.caches.flat().reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** All arrays of the cache, in the order of layers: keys, values, or what is convolved. */
  get cacheArrays(): readonly Float32Array[] {
    return this.caches.flat();
  }

  /**
   * Runs a decoder's body.
   *
   * @param slotOf where the cache keeps a position; default: there
   * @returns x [T, hiddenSize] for tokens at positions start, start + 1, …
   */
  runBody(
    body: readonly Operation[],
    tokens: Uint32Array,
    start: number,
    slotOf?: (position: number) => number,
  ): Float64Array {
    return this.run(body, new Map(), { tokens, start, slotOf }, "x");
  }

  /** Runs a decoder's head. @param x [T, hiddenSize] @returns logits [T, V] */
  runHead(head: readonly Operation[], x: Float64Array): Float64Array {
    return this.run(head, new Map([["x", x]]), { tokens: new Uint32Array(), start: 0 }, "logits");
  }

  /** The states that a decoder's head reads, after its norm. @param x [T, hiddenSize] @returns [T, hiddenSize] */
  finalStates([norm]: readonly Operation[], x: Float64Array): Float64Array {
    if (norm?.op !== "norm") throw new WordloomError("internal", "the head does not begin with a norm");
    return this.run([norm], new Map([["x", x]]), { tokens: new Uint32Array(), start: 0 }, norm.to);
  }

  private run(
    operations: readonly Operation[],
    values: Map<ValueName, Float64Array>,
    { tokens, start, slotOf }: RunPlace,
    result: ValueName,
  ): Float64Array {
    const value = (name: ValueName): Float64Array => {
      const found = values.get(name);
      if (found === undefined) throw new WordloomError("internal", `no operation has written ${name}`);
      return found;
    };
    const optionalWeight = (name: TensorName | undefined): Float32Array | undefined =>
      name === undefined ? undefined : this.weight(name);

    const compute = (operation: Operation): Float64Array => {
      switch (operation.op) {
        case "embed": {
          const { scale, width } = operation;
          return embed(this.weight(operation.table), optionalWeight(operation.positions), tokens, {
            scale,
            start,
            width,
          });
        }
        // A head's values are a row of their own to rmsNorm and layerNorm: their width is the weight's.
        case "head_norm":
        case "norm": {
          const weight = this.weight(operation.weight);
          return operation.spec.kind === "rms"
            ? rmsNorm(value(operation.from), weight, operation.spec.eps)
            : layerNorm(value(operation.from), weight, optionalWeight(operation.bias), operation.spec.eps);
        }
        case "linear": {
          const weight = this.weight(operation.weight);
          return linear(value(operation.from), weight, optionalWeight(operation.bias), operation.inputs);
        }
        case "attention": {
          const { q, k, v, spec, layer } = operation;
          return this.attend(layer, spec, [value(q), value(k), value(v)], { start, slotOf });
        }
        case "convolution": {
          const { layer, inputGate, outputGate, convolved, width, bias } = operation;
          const gated = this.store(layer, 0, multiply(value(inputGate), value(convolved)), width, { start, slotOf });
          const weight = this.weight(operation.weight);
          return convolution(value(outputGate), gated, weight, optionalWeight(bias), { width, start });
        }
        case "activation": {
          const up = operation.up === undefined ? undefined : value(operation.up);
          return activation(value(operation.gate), up, operation.activation);
        }
        case "add":
          return add(value(operation.to), value(operation.from), operation.scale);
        case "logits":
          return logits(value(operation.from), operation.scale, operation.softcap);
      }
    };
    for (const operation of operations) values.set(operation.to, compute(operation));
    return value(result);
  }

  private attend(
    layer: number,
    spec: AttentionSpec,
    [q, k, v]: readonly [Float64Array, Float64Array, Float64Array],
    place: CachePlace,
  ): Float64Array {
    const { start } = place;
    const { headCount, keyValueHeadCount, headDim, scale, window, softcap } = spec;
    const turn = (x: Float64Array, heads: number): Float64Array => {
      if (spec.rope === undefined) return x;
      const inverseFrequencies = frequenciesFor(spec.rope, this.contextLength);
      return rope(x, { ...spec.rope, inverseFrequencies }, { headCount: heads, headDim, start });
    };
    const width = keyValueHeadCount * headDim;
    const keys = this.store(layer, 0, turn(k, keyValueHeadCount), width, place);
    const values = this.store(layer, 1, v, width, place);
    const shape = { headCount, keyValueHeadCount, headDim, scale, window, softcap, start };
    return attention(turn(q, headCount), keys, values, shape);
  }

  /** Rows into one of a layer's arrays, from position `start` on. @returns the array, in the order of positions */
  private store(
    layer: number,
    array: number,
    rows: Float64Array,
    width: number,
    { start, slotOf = (position) => position }: CachePlace,
  ): Float32Array {
    const cache = this.caches[layer]?.[array];
    if (cache === undefined) throw new WordloomError("internal", `layer ${layer} has no array ${array} in the cache`);
    for (let first = 0; first < rows.length; first += width) {
      const row = Float32Array.from(rows.subarray(first, first + width));
      cache.set(this.roundRow?.(row) ?? row, slotOf(start + first / width) * width);
    }
    const end = start + rows.length / width;
    if (slotOf(end - 1) === end - 1) return cache; // slots never lie before their positions, and then none is elsewhere
    const inOrder = new Float32Array(end * width);
    for (let position = 0; position < end; position++) {
      const from = slotOf(position) * width;
      inOrder.set(cache.subarray(from, from + width), position * width);
    }
    return inOrder;
  }
}

/** The first row's position, and where the cache keeps a position; default: there. */
interface CachePlace {
  start: number;
  slotOf?: ((position: number) => number) | undefined;
}

interface RunPlace extends CachePlace {
  tokens: Uint32Array;
}
