/** Interprets a decoder's operations literally, one after the other. */
import { WordloomError } from "../../errors";
import type { AttentionSpec, DecoderSpec, TensorName } from "../../models/decoder-spec";
import type { Operation, ValueName } from "../../models/operations";
import { frequenciesFor } from "../../models/rope-frequencies";
import { activation, add, attention, embed, layerNorm, linear, logits, rmsNorm, rope } from "./operations";

/** Keys (rotated) and values of one layer, each [contextLength, keyValueHeadCount · headDim]. */
interface LayerCache {
  keys: Float32Array;
  values: Float32Array;
}

export class Interpreter {
  private readonly caches: readonly LayerCache[];
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
    this.caches = spec.layers.map(({ attention: { keyValueHeadCount, headDim } }) => {
      const length = contextLength * keyValueHeadCount * headDim;
      return { keys: new Float32Array(length), values: new Float32Array(length) };
    });
    this.kvCacheBytes = this.caches.reduce((sum, { keys, values }) => sum + keys.byteLength + values.byteLength, 0);
  }

  /** Runs a decoder's body. @returns x [T, hiddenSize] for tokens at positions start, start + 1, … */
  runBody(body: readonly Operation[], tokens: Uint32Array, start: number): Float64Array {
    return this.run(body, new Map(), { tokens, start }, "x");
  }

  /** Runs a decoder's head. @param x [T, hiddenSize] @returns logits [T, V] */
  runHead(head: readonly Operation[], x: Float64Array): Float64Array {
    return this.run(head, new Map([["x", x]]), { tokens: new Uint32Array(), start: 0 }, "logits");
  }

  private run(
    operations: readonly Operation[],
    values: Map<ValueName, Float64Array>,
    { tokens, start }: { tokens: Uint32Array; start: number },
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
          return this.attend(layer, spec, [value(q), value(k), value(v)], start);
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
    start: number,
  ): Float64Array {
    const cache = this.caches[layer];
    if (cache === undefined) throw new WordloomError("internal", `there is no layer ${layer}`);
    const { headCount, keyValueHeadCount, headDim, scale, window, softcap } = spec;
    const turn = (x: Float64Array, heads: number): Float64Array => {
      if (spec.rope === undefined) return x;
      const inverseFrequencies = frequenciesFor(spec.rope, this.contextLength);
      return rope(x, { ...spec.rope, inverseFrequencies }, { headCount: heads, headDim, start });
    };
    const width = keyValueHeadCount * headDim;
    this.store(cache.keys, turn(k, keyValueHeadCount), start * width, width);
    this.store(cache.values, v, start * width, width);
    const shape = { headCount, keyValueHeadCount, headDim, scale, window, softcap, start };
    return attention(turn(q, headCount), cache.keys, cache.values, shape);
  }

  private store(cache: Float32Array, rows: Float64Array, offset: number, width: number): void {
    for (let first = 0; first < rows.length; first += width) {
      const row = Float32Array.from(rows.subarray(first, first + width));
      cache.set(this.roundRow?.(row) ?? row, offset + first);
    }
  }
}
