/**
 * Which neighbouring operations become one dispatch. A model file never mentions a fusion; this is the only place.
 *
 *   norm, linear …          the norm folds into the matrix product that follows
 *   linear q, k, v          one matrix, one after the other, when they read the same value
 *   gate, up, activation    one matrix; the product's epilogue does activation(gate) · up
 *   up, activation          the epilogue does activation(up)
 *   linear, add             the epilogue adds onto the residual stream
 *   linear, logits          the epilogue scales and softcaps
 *   norm, add               a norm after a block adds onto the residual stream
 *   norm of q, norm of k    goes with the attention that follows
 *
 * The two gates of a convolution and what it convolves are one matrix as q, k and v are.
 *
 * What is not listed here is refused: a value that a fusion leaves unwritten is never read.
 */
import { WordloomError } from "../../errors";
import type { Epilogue } from "../../kernels/matmul";
import type { AttentionSpec, NormSpec, TensorName } from "../../models/decoder-spec";
import type { Operation, ValueName } from "../../models/operations";

/** Names of tensors that lie one after the other in one matrix; all have the same columns. */
export interface FusedMatrix {
  weights: readonly { name: TensorName; rows: number }[];
  columns: number;
  /** Rows come as gates, then as many ups. */
  gated: boolean;
}

export interface FusedNorm {
  spec: NormSpec;
  weight: TensorName;
  bias: TensorName | undefined;
}

/** The norm of q and k before rotation; both of one kind. */
export interface FusedQueryKeyNorm {
  over: "head" | "all";
  query: FusedNorm;
  key: FusedNorm;
}

/** A vector, with room for `rows` numbers; without a name, as many zeros. */
export interface FusedVector {
  name: TensorName | undefined;
  rows: number;
}

export type FusedOperation =
  | { kind: "embed"; table: TensorName; positions: TensorName | undefined; scale: number; to: ValueName; width: number }
  | {
      kind: "matmul";
      label: string;
      norm: FusedNorm | undefined;
      from: ValueName;
      matrix: FusedMatrix;
      /** One after the other, as the matrix's rows; none: no product has one. */
      biases: readonly FusedVector[];
      epilogue: Epilogue;
      to: ValueName;
      /** Width of `to`. */
      outputs: number;
    }
  /** to += scale · norm(from) */
  | { kind: "norm_add"; norm: FusedNorm; from: ValueName; to: ValueName; width: number; scale: number }
  | {
      kind: "attention";
      layer: number;
      qkv: ValueName;
      queryKeyNorm: FusedQueryKeyNorm | undefined;
      to: ValueName;
      spec: AttentionSpec;
    }
  | {
      kind: "convolution";
      layer: number;
      /** Input gate, output gate, what is convolved. */
      projections: ValueName;
      weight: TensorName;
      bias: TensorName | undefined;
      taps: number;
      to: ValueName;
      width: number;
    };

type Of<Op extends Operation["op"]> = Extract<Operation, { op: Op }>;
type Norm = Of<"norm">;
type Linear = Of<"linear">;
type HeadNorm = Norm | Of<"head_norm">;

/** @throws model-unsupported for a list that the kernels do not serve */
export function fuse(operations: readonly Operation[]): FusedOperation[] {
  return new Fusion(operations).run();
}

class Fusion {
  #fused: FusedOperation[] = [];
  #next = 0;
  /** What lies in a buffer of its own. The residual stream always does. */
  #written = new Set<ValueName>(["x"]);
  /** Products that share a buffer, by the name of the first. */
  #products = new Map<ValueName, readonly Linear[]>();
  /** Norms that wait for their attention, by what they would write. */
  #headNorms = new Map<ValueName, HeadNorm>();

  constructor(private readonly operations: readonly Operation[]) {}

  run(): FusedOperation[] {
    for (let operation = this.#take(); operation !== undefined; operation = this.#take()) this.#fuse(operation);
    for (const waiting of this.#headNorms.values()) throw this.#refusal(waiting);
    return this.#fused;
  }

  #take(): Operation | undefined {
    return this.operations[this.#next++];
  }

  get #following(): Operation | undefined {
    return this.operations[this.#next];
  }

  #push(operation: FusedOperation): void {
    this.#fused.push(operation);
    this.#written.add(operation.to);
  }

  #fuse(operation: Operation): void {
    switch (operation.op) {
      case "embed": {
        const { table, positions, scale, to, width } = operation;
        return this.#push({ kind: "embed", table, positions, scale, to, width });
      }
      case "linear":
        return this.#matmul(undefined, operation);
      case "norm":
        return this.#norm(operation);
      case "head_norm":
        return void this.#headNorms.set(operation.to, operation);
      case "attention":
        return this.#attention(operation);
      case "convolution":
        return this.#convolution(operation);
      default:
        throw this.#refusal(operation);
    }
  }

  #norm(norm: Norm): void {
    const following = this.#following;
    if (following?.op === "linear" && following.from === norm.to) {
      this.#next++;
      return this.#matmul(norm, following);
    }
    if (following?.op === "add" && following.from === norm.to) {
      this.#next++;
      this.#requireWritten(norm);
      const { to, width, scale } = following;
      return this.#push({ kind: "norm_add", norm: fusedNorm(norm), from: norm.from, to, width, scale });
    }
    this.#headNorms.set(norm.to, norm);
  }

  #matmul(norm: Norm | undefined, first: Linear): void {
    this.#requireWritten(norm ?? first);
    const linears: Linear[] = [first];
    for (let next = this.#following; next?.op === "linear" && next.from === first.from; next = this.#following) {
      linears.push(next);
      this.#next++;
    }
    const { gated, epilogue, to } = this.#epilogue(linears);
    const weights = linears.map(({ weight, outputs }) => ({ name: weight, rows: outputs }));
    const rows = weights.reduce((sum, { rows }) => sum + rows, 0);
    const hasBias = linears.some(({ bias }) => bias !== undefined);
    const operation: FusedOperation = {
      kind: "matmul",
      label: linears.map(({ to }) => to.replace(/^layers\.\d+\./, "")).join("·"),
      norm: norm && fusedNorm(norm),
      from: norm === undefined ? first.from : norm.from,
      matrix: { weights, columns: first.inputs, gated },
      biases: hasBias ? linears.map(({ bias, outputs }) => ({ name: bias, rows: outputs })) : [],
      epilogue,
      to,
      outputs: gated ? first.outputs : rows,
    };
    if (linears.length === 1 || gated) return this.#push(operation);
    // One buffer, under the name of the first; only attention and convolutions read its parts.
    this.#fused.push(operation);
    this.#products.set(first.to, linears);
  }

  /** What becomes of a product; takes the operation that says so. */
  #epilogue(linears: readonly Linear[]): { gated: boolean; epilogue: Epilogue; to: ValueName } {
    const [first, second, ...more] = linears as [Linear, ...Linear[]];
    const following = this.#following;
    if (following?.op === "activation" && following.gate === first.to && more.length === 0) {
      const { activation, up, to } = following;
      const gated = up !== undefined;
      if (up === second?.to && (!gated || first.outputs === second?.outputs)) {
        this.#next++;
        return { gated, epilogue: { kind: gated ? "gated" : "activation", activation }, to };
      }
    }
    if (second === undefined && following?.op === "add" && following.from === first.to) {
      this.#next++;
      return { gated: false, epilogue: { kind: "residual", scale: following.scale }, to: following.to };
    }
    if (second === undefined && following?.op === "logits" && following.from === first.to) {
      this.#next++;
      const { scale, softcap, to } = following;
      return { gated: false, epilogue: { kind: "logits", scale, softcap }, to };
    }
    return { gated: false, epilogue: { kind: "store" }, to: first.to };
  }

  #attention(operation: Of<"attention">): void {
    const { layer, q, k, v, to, spec } = operation;
    const [queryNorm, keyNorm] = [q, k].map((name) => this.#takeHeadNorm(name));
    const qkv = this.#product(operation, [queryNorm?.from ?? q, keyNorm?.from ?? k, v]);
    const queryKeyNorm = queryNorm && keyNorm && this.#queryKeyNorm(queryNorm, keyNorm);
    if ((queryNorm ?? keyNorm) !== undefined && queryKeyNorm === undefined) throw this.#refusal(operation);
    this.#push({ kind: "attention", layer, qkv, queryKeyNorm, to, spec });
  }

  #convolution(operation: Of<"convolution">): void {
    const { layer, inputGate, outputGate, convolved, weight, bias, taps, to, width } = operation;
    const projections = this.#product(operation, [inputGate, outputGate, convolved]);
    this.#push({ kind: "convolution", layer, projections, weight, bias, taps, to, width });
  }

  /** The buffer that holds these, and no others, in this order. */
  #product(operation: Operation, [first, ...more]: readonly [ValueName, ...ValueName[]]): ValueName {
    const parts = this.#products.get(first)?.map((linear) => linear.to) ?? [];
    if (parts.join() !== [first, ...more].join()) throw this.#refusal(operation);
    return first;
  }

  #takeHeadNorm(name: ValueName): HeadNorm | undefined {
    const norm = this.#headNorms.get(name);
    this.#headNorms.delete(name);
    return norm;
  }

  /** @returns undefined for two norms of different kinds */
  #queryKeyNorm(query: HeadNorm, key: HeadNorm): FusedQueryKeyNorm | undefined {
    const { kind, eps } = query.spec;
    if (query.op !== key.op || kind !== key.spec.kind || eps !== key.spec.eps) return undefined;
    const over = query.op === "head_norm" ? "head" : "all";
    return { over, query: fusedNorm(query), key: fusedNorm(key) };
  }

  #requireWritten(operation: Norm | Linear): void {
    if (!this.#written.has(operation.from)) throw this.#refusal(operation);
  }

  #refusal({ op, to }: Operation): WordloomError {
    const before = this.operations[this.operations.findIndex((each) => each.to === to && each.op === op) - 1];
    const place = before === undefined ? "as the first operation" : `after ${before.op} to ${before.to}`;
    return new WordloomError("model-unsupported", `no WebGPU kernel computes the ${op} to ${to} ${place}`);
  }
}

const fusedNorm = ({ spec, weight, bias }: HeadNorm): FusedNorm => ({ spec, weight, bias });
