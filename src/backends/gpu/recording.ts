/**
 * The fused list recorded as dispatches: once for decode (one row), once for prefill (a chunk of rows).
 * Every buffer and bind group of a step is made here, so that the loop makes none.
 */
import { WordloomError } from "../../errors";
import type { BufferArena } from "../../gpu/buffers";
import type { Dispatch } from "../../gpu/pipelines";
import {
  attentionDecode,
  attentionPrefill,
  cacheBytes,
  kvWrite,
  partialsBytes,
  ropeTableBytes,
  type AttentionLayer,
  type KvFormat,
} from "../../kernels/attention";
import { convolution, type ConvolutionLayer } from "../../kernels/convolution";
import { embed } from "../../kernels/embed";
import {
  paddedWidth,
  type KernelContext,
  type MatrixPart,
  type QueryKeyNormInput,
  type StepKind,
} from "../../kernels/kernel";
import { gemm, gemv } from "../../kernels/matmul";
import { norm, queryKeyNorm } from "../../kernels/norm";
import { ropeTable } from "../../models/rope-frequencies";
import type { AttentionSpec, RopeSpec } from "../../models/decoder-spec";
import type { ValueName } from "../../models/operations";
import type { FusedOperation } from "./fuse";
import type { WeightStore } from "./weight-store";

export interface RecordingContext {
  kernels: KernelContext;
  device: GPUDevice;
  /** Activations, tables, partials. */
  work: BufferArena;
  /** Keys and values, and what is convolved. */
  cache: BufferArena;
  weights: WeightStore;
  kvFormat: KvFormat;
  contextLength: number;
}

type Matmul = Extract<FusedOperation, { kind: "matmul" }>;
type Attention = Extract<FusedOperation, { kind: "attention" }>;
type Convolution = Extract<FusedOperation, { kind: "convolution" }>;
type NormAdd = Extract<FusedOperation, { kind: "norm_add" }>;
type Embed = Extract<FusedOperation, { kind: "embed" }>;

/** Intermediate values [rows, padded width]; layers take turns in the same buffers. */
export class Values {
  #buffers = new Map<string, GPUBuffer>();
  constructor(
    private readonly arena: BufferArena,
    private readonly label: string,
    private readonly rows: number,
  ) {}

  /** @param width needed the first time a value is named */
  get(name: ValueName, width: number): GPUBuffer {
    const shared = `${name.replace(/^layers\.\d+\./, "")} ${width}`;
    let buffer = this.#buffers.get(shared);
    if (buffer === undefined) {
      buffer = this.arena.storage(`${this.label} ${shared}`, this.rows * paddedWidth(width) * 4);
      this.#buffers.set(shared, buffer);
    }
    return buffer;
  }
}

/** What a kernel of both kinds of step is recorded for. */
interface StepRows {
  step: StepKind;
  values: Values;
  rows: number;
  /** Where several sequences have their positions; undefined: there is one. */
  slots?: GPUBuffer | undefined;
}

/** What a decode step is recorded for: one sequence, or several whose steps are one. */
export interface DecodeRows extends StepRows {
  step: Extract<StepKind, { kind: "decode" }>;
  /** Takes what only the attention of this step needs. */
  work: BufferArena;
  partials?: GPUBuffer | undefined;
}

export class Recorder {
  #layers = new Map<number, AttentionLayer>();
  #convolutions = new Map<number, ConvolutionLayer>();
  #ropeTables = new Map<string, GPUBuffer>();
  #positions = new Map<string, GPUBuffer>();
  readonly decodeValues: Values;
  readonly prefillValues: Values;
  readonly #one: DecodeRows;
  readonly #many: StepRows;

  constructor(
    private readonly context: RecordingContext,
    sequences: GPUBuffer,
    private readonly chunk: GPUBuffer,
    private readonly prefillRows: number,
  ) {
    this.decodeValues = new Values(context.work, "decode", 1);
    this.prefillValues = new Values(context.work, "prefill", prefillRows);
    const { work } = context;
    this.#one = { step: { kind: "decode", sequences }, values: this.decodeValues, rows: 1, work };
    this.#many = { step: { kind: "prefill", chunk }, values: this.prefillValues, rows: prefillRows };
  }

  /** @param target default: the one sequence; replay the list with as many rows as it has */
  async decode(operations: readonly FusedOperation[], target = this.#one): Promise<Dispatch[]> {
    const lists = operations.map((operation) => {
      switch (operation.kind) {
        case "embed":
          return this.#embed(operation, target);
        case "matmul":
          return this.#gemv(operation, target);
        case "norm_add":
          return this.#normAdd(operation, target);
        case "attention":
          return this.#attentionDecode(operation, target);
        case "convolution":
          return this.#convolution(operation, target);
      }
    });
    return (await Promise.all(lists)).flat();
  }

  async prefill(operations: readonly FusedOperation[]): Promise<Dispatch[]> {
    const lists = operations.map((operation) => {
      switch (operation.kind) {
        case "embed":
          return this.#embed(operation, this.#many);
        case "matmul":
          return this.#gemm(operation);
        case "norm_add":
          return this.#normAdd(operation, this.#many);
        case "attention":
          return this.#attentionPrefill(operation);
        case "convolution":
          return this.#convolution(operation, this.#many);
      }
    });
    return (await Promise.all(lists)).flat();
  }

  #embed({ table, positions, scale, to, width }: Embed, { step, values, rows }: StepRows) {
    const learned = positions === undefined ? undefined : this.#positionTable(positions);
    const x = values.get(to, width);
    return Promise.all(
      this.tableParts(table, width).map((part) =>
        embed(this.context.kernels, { step, table: part, positions: learned, scale, x, rows }),
      ),
    );
  }

  tableParts(table: string, width: number): readonly MatrixPart[] {
    const rows = this.context.weights.rowsOf(table);
    return this.context.weights.matrix({ weights: [{ name: table, rows }], columns: width, gated: false });
  }

  #positionTable(name: string): GPUBuffer {
    let table = this.#positions.get(name);
    if (table === undefined) {
      table = this.context.weights.plainRows(name);
      this.#positions.set(name, table);
    }
    return table;
  }

  #gemv(
    { label, norm: fusedNorm, from, matrix, biases, epilogue, to, outputs }: Matmul,
    { step: { sequences }, values, rows }: DecodeRows,
  ) {
    const { kernels, weights } = this.context;
    const shared = {
      label,
      norm: fusedNorm && weights.norm(fusedNorm),
      bias: weights.bias(biases),
      epilogue,
      outputs,
      x: values.get(from, matrix.columns),
      y: values.get(to, outputs),
      sequences,
      rows,
    };
    return Promise.all(weights.matrix(matrix).map((part) => gemv(kernels, { ...shared, matrix: part })));
  }

  /** The norm is a dispatch of its own here: in a matrix product each of its tiles would do it again. */
  #gemm(operation: Matmul): Promise<Dispatch[]> {
    const { label, from, matrix, biases, epilogue, to, outputs } = operation;
    const { kernels, weights } = this.context;
    const rows = this.prefillRows;
    const normalized = operation.norm && this.prefillValues.get("normalized", matrix.columns);
    const product = {
      label,
      bias: weights.bias(biases),
      epilogue,
      outputs,
      x: normalized ?? this.prefillValues.get(from, matrix.columns),
      y: this.prefillValues.get(to, outputs),
      chunk: this.chunk,
      rows,
    };
    return Promise.all([
      ...(normalized === undefined ? [] : [this.normalizeRows(operation, normalized)]),
      ...weights.matrix(matrix).map((part) => gemm(kernels, { ...product, matrix: part })),
    ]);
  }

  /** Every row of a chunk through the norm that stands before a matrix. */
  normalizeRows({ norm: fusedNorm, from, matrix }: Matmul, y: GPUBuffer): Promise<Dispatch> {
    const { kernels, weights } = this.context;
    if (fusedNorm === undefined) throw new WordloomError("internal", `no norm stands before ${from}`);
    return norm(kernels, {
      step: { kind: "prefill", chunk: this.chunk },
      norm: weights.norm(fusedNorm),
      x: this.prefillValues.get(from, matrix.columns),
      y,
      rows: this.prefillRows,
      width: matrix.columns,
    });
  }

  #normAdd({ norm: fusedNorm, from, to, width, scale }: NormAdd, { step, values, rows }: StepRows) {
    const { kernels, weights } = this.context;
    const [x, y] = [values.get(from, width), values.get(to, width)];
    return Promise.all([norm(kernels, { step, norm: weights.norm(fusedNorm), x, y, rows, width, add: scale })]);
  }

  /** A norm over all heads, and over each head of a chunk; in decode attention itself does those of a head. */
  #queryKeyNorm(spec: AttentionSpec, norm: QueryKeyNormInput, qkv: ValueName, { step, values, rows }: StepRows) {
    const width = qkvWidth(spec);
    return queryKeyNorm(this.context.kernels, { step, norm, qkv: values.get(qkv, width), rows, width });
  }

  #queryKeyNormInput({ queryKeyNorm, spec }: Attention): QueryKeyNormInput | undefined {
    return queryKeyNorm && this.context.weights.queryKeyNorm(queryKeyNorm, spec);
  }

  async #attentionDecode(operation: Attention, target: DecodeRows): Promise<Dispatch[]> {
    const { layer, qkv, to, spec, queryKeyNorm } = operation;
    const { kernels } = this.context;
    const { step, values, rows, slots } = target;
    const norm = this.#queryKeyNormInput(operation);
    const before = norm && queryKeyNorm?.over === "all" ? [this.#queryKeyNorm(spec, norm, qkv, target)] : [];
    const bytes = rows * partialsBytes(spec.headCount, spec.headDim, kernels.tier.attentionSplits);
    const width = spec.headCount * spec.headDim;
    const attention = attentionDecode(kernels, {
      sequences: step.sequences,
      rows: slots && { count: rows, slots },
      layer: this.#layer(layer, spec),
      qkv: values.get(qkv, qkvWidth(spec)),
      norm: queryKeyNorm?.over === "head" ? norm : undefined,
      partials: bytes === 0 ? undefined : partialsOf(target, bytes),
      y: values.get(to, width),
    });
    return [...(await Promise.all(before)), ...(await attention)];
  }

  #attentionPrefill(operation: Attention) {
    const { layer: index, qkv, to, spec } = operation;
    const { kernels } = this.context;
    const norm = this.#queryKeyNormInput(operation);
    const layer = this.#layer(index, spec);
    const shared = {
      chunk: this.chunk,
      layer,
      qkv: this.prefillValues.get(qkv, qkvWidth(spec)),
      rows: this.prefillRows,
    };
    return Promise.all([
      ...(norm === undefined ? [] : [this.#queryKeyNorm(spec, norm, qkv, this.#many)]),
      kvWrite(kernels, shared),
      attentionPrefill(kernels, { ...shared, y: this.prefillValues.get(to, spec.headCount * spec.headDim) }),
    ]);
  }

  #convolution(operation: Convolution, { step, values, rows, slots }: StepRows) {
    const { projections, to, width } = operation;
    const layer = this.#convolutionLayer(operation);
    const shared = { step, layer, projections: values.get(projections, 3 * width), y: values.get(to, width), rows };
    return Promise.all([convolution(this.context.kernels, { ...shared, slots })]);
  }

  /** The buffers of the KV cache once everything is recorded, in the order of layers: keys, values, or what is convolved. */
  get cacheBuffers(): GPUBuffer[] {
    const layers: [number, GPUBuffer[]][] = [
      ...[...this.#layers].map(([index, { kv }]): [number, GPUBuffer[]] => [index, [kv.keys, kv.values]]),
      ...[...this.#convolutions].map(([index, { kv }]): [number, GPUBuffer[]] => [index, [kv.gated]]),
    ];
    return layers.sort(([a], [b]) => a - b).flatMap(([, buffers]) => buffers);
  }

  #convolutionLayer({ layer: index, width, taps, weight, bias }: Convolution): ConvolutionLayer {
    const known = this.#convolutions.get(index);
    if (known !== undefined) return known;
    const { cache, weights, kvFormat: format, contextLength: capacity } = this.context;
    const gated = cache.storage(`layer ${index} gated`, cacheBytes(width, capacity, format));
    const layer: ConvolutionLayer = {
      width,
      taps,
      weight: weights.plainRows(weight),
      bias: weights.bias(bias === undefined ? [] : [{ name: bias, rows: width }]),
      kv: { format, capacity, gated },
    };
    this.#convolutions.set(index, layer);
    return layer;
  }

  #layer(index: number, spec: AttentionSpec): AttentionLayer {
    const known = this.#layers.get(index);
    if (known !== undefined) return known;
    const { cache, kvFormat: format, contextLength: capacity } = this.context;
    const bytes = cacheBytes(spec.keyValueHeadCount * spec.headDim, capacity, format);
    const layer: AttentionLayer = {
      headCount: spec.headCount,
      keyValueHeadCount: spec.keyValueHeadCount,
      headDim: spec.headDim,
      scale: spec.scale,
      // A window as long as the context hides nothing.
      window: spec.window !== undefined && spec.window < capacity ? spec.window : undefined,
      softcap: spec.softcap,
      rope: spec.rope && {
        pairing: spec.rope.pairing,
        pairs: spec.rope.inverseFrequencies.length,
        table: this.#ropeTable(spec.rope),
      },
      kv: {
        format,
        capacity,
        keys: cache.storage(`layer ${index} keys`, bytes),
        values: cache.storage(`layer ${index} values`, bytes),
      },
    };
    this.#layers.set(index, layer);
    return layer;
  }

  #ropeTable(rope: RopeSpec): GPUBuffer {
    const key = [rope.magnitude ?? 1, ...rope.inverseFrequencies].join();
    let table = this.#ropeTables.get(key);
    if (table === undefined) {
      const { cos, sin } = ropeTable(rope, this.context.contextLength);
      const pairs = new Float32Array(2 * cos.length);
      for (let i = 0; i < cos.length; i++) {
        pairs[2 * i] = cos[i] ?? 0;
        pairs[2 * i + 1] = sin[i] ?? 0;
      }
      table = this.context.work.storage(
        "rope table",
        ropeTableBytes(rope.inverseFrequencies.length, this.context.contextLength),
      );
      this.context.device.queue.writeBuffer(table, 0, pairs);
      this.#ropeTables.set(key, table);
    }
    return table;
  }
}

/** Layers take turns in one. */
function partialsOf(target: DecodeRows, bytes: number): GPUBuffer {
  if (target.partials === undefined || target.partials.size < bytes) {
    target.partials = target.work.storage("attention partials", bytes);
  }
  return target.partials;
}

const qkvWidth = ({ headCount, keyValueHeadCount, headDim }: AttentionSpec) =>
  (headCount + 2 * keyValueHeadCount) * headDim;

/** The norm and the matrix that make logits. */
export function headOf(operations: readonly FusedOperation[]): Matmul {
  const [head, ...more] = operations;
  if (head?.kind !== "matmul" || head.norm === undefined || more.length > 0) {
    throw new WordloomError("internal", "the head is not one norm and one matrix");
  }
  return head;
}
