/**
 * Which neighbouring operations become one dispatch. A model file never mentions a fusion; this is the only place.
 *
 *   norm, linear …          the norm folds into the matrix product that follows
 *   linear q, k, v          one matrix, one after the other, when they read the same value
 *   gate, up, activation    one matrix; the product's epilogue does activation(gate) · up
 *   up, activation          the epilogue does activation(up)
 *   linear, add             the epilogue adds onto the residual stream
 */
import { WordloomError } from "../../errors";
import type { Activation, AttentionSpec, NormSpec, TensorName } from "../../models/decoder-spec";
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

export type FusedOperation =
  | { kind: "embed"; table: TensorName; positions: TensorName | undefined; scale: number; to: ValueName; width: number }
  | {
      kind: "matmul";
      label: string;
      norm: FusedNorm | undefined;
      from: ValueName;
      matrix: FusedMatrix;
      biases: readonly TensorName[];
      epilogue:
        | { kind: "store" }
        | { kind: "residual" }
        | { kind: "activation"; activation: Activation }
        | { kind: "gated"; activation: Activation };
      to: ValueName;
      /** Width of `to`. */
      outputs: number;
    }
  | { kind: "attention"; layer: number; qkv: ValueName; to: ValueName; spec: AttentionSpec };

type Linear = Extract<Operation, { op: "linear" }>;
type Matmul = Extract<FusedOperation, { kind: "matmul" }>;

/** @throws internal for a list in an order that no kernel serves */
export function fuse(operations: readonly Operation[]): FusedOperation[] {
  const fused: FusedOperation[] = [];
  let next = 0;
  const peek = () => operations[next];

  while (next < operations.length) {
    const operation = operations[next++] as Operation; // next < length
    if (operation.op === "embed") {
      const { table, positions, scale, to, width } = operation;
      fused.push({ kind: "embed", table, positions, scale, to, width });
      continue;
    }
    if (operation.op === "attention") {
      const { layer, q, to, spec } = operation;
      if (spec.window !== undefined || spec.softcap !== undefined) {
        throw new WordloomError("internal", "no kernel for attention with a window or a softcap");
      }
      fused.push({ kind: "attention", layer, qkv: q, to, spec });
      continue;
    }
    const norm = operation.op === "norm" ? operation : undefined;
    const first = norm === undefined ? operation : operations[next++];
    if (first?.op !== "linear" || (norm !== undefined && first.from !== norm.to)) {
      throw new WordloomError("internal", `no kernel for ${operation.op} followed by ${first?.op ?? "nothing"}`);
    }
    const linears: Linear[] = [first];
    for (let following = peek(); following?.op === "linear" && following.from === first.from; following = peek()) {
      linears.push(following);
      next++;
    }
    fused.push(matmul(linears, norm, peek(), () => next++));
  }
  return fused;
}

function matmul(
  linears: readonly Linear[],
  norm: Extract<Operation, { op: "norm" }> | undefined,
  following: Operation | undefined,
  take: () => void,
): Matmul {
  const [first] = linears as [Linear, ...Linear[]];
  const product = {
    kind: "matmul" as const,
    label: linears.map(({ to }) => to.replace(/^layers\.\d+\./, "")).join("·"),
    norm: norm && { spec: norm.spec, weight: norm.weight, bias: norm.bias },
    from: norm === undefined ? first.from : norm.from,
    biases: linears.flatMap(({ bias }) => (bias === undefined ? [] : [bias])),
  };
  if (product.biases.length !== 0 && product.biases.length !== linears.length) {
    throw new WordloomError("internal", `${product.label}: either all or none of them have a bias`);
  }
  const weights = linears.map(({ weight, outputs }) => ({ name: weight, rows: outputs }));
  const outputs = weights.reduce((sum, { rows }) => sum + rows, 0);
  const plain = { weights, columns: first.inputs, gated: false };

  if (following?.op === "activation" && following.gate === first.to) {
    const { activation, to, width, up } = following;
    if (up === undefined && linears.length === 1) {
      take();
      return { ...product, matrix: plain, epilogue: { kind: "activation", activation }, to, outputs: width };
    }
    if (linears.length === 2 && linears[1]?.to === up) {
      take();
      return {
        ...product,
        matrix: { ...plain, gated: true },
        epilogue: { kind: "gated", activation },
        to,
        outputs: width,
      };
    }
  }
  if (following?.op === "add" && following.scale === 1 && linears.length === 1 && following.from === first.to) {
    take();
    return { ...product, matrix: plain, epilogue: { kind: "residual" }, to: following.to, outputs };
  }
  // Several products one after the other are one value, under the name of the first: q · k · v.
  return { ...product, matrix: plain, epilogue: { kind: "store" }, to: first.to, outputs };
}
