/**
 * What to read from a checkpoint, decided from its headers before any weight moves: which files, which tensors of them
 * in file order, and which decoder tensors each of those serves.
 */
import { WordloomError } from "../errors";
import type { GgmlType } from "../formats/ggml-types";
import { readBytes, readJson } from "../formats/read-json";
import {
  parseSafetensorsHeader,
  parseSafetensorsIndex,
  safetensorsHeaderBytes,
  type SafetensorsHeader,
  type SafetensorsIndex,
  type SafetensorsTensor,
} from "../formats/safetensors";
import type { PackedMatrix, PackedModule } from "../formats/packed/packed-matrix";
import type { DecoderSpec, TensorBinding } from "../models/decoder-spec";
import type { Quantization } from "../models/quantization-config";
import type { ModelFile, ModelFiles } from "../storage/model-files";
import { ownModule } from "../own-module";

const SINGLE_FILE = "model.safetensors";
const INDEX_FILE = "model.safetensors.index.json";

/** First read of a file: holds the whole header of most models, so that one request is enough. */
const FIRST_READ_BYTES = 64 * 1024;

/** A decoder tensor, as a part of the checkpoint tensor seen as a matrix [rows, columns]. */
export interface TensorUse {
  name: string;
  transpose: boolean;
  /** Which rows of the checkpoint's matrix (after transposing) are its own, ascending; of a vector, which elements. */
  runs: readonly RowRun[];
  /** Its own. */
  rows: number;
  columns: number;
  /** Added to each number of a vector; 0 for a matrix. */
  offset: number;
}

/** `count` neighbouring rows: from row `from` of the checkpoint's matrix to row `to` of the decoder's. */
export interface RowRun {
  from: number;
  to: number;
  count: number;
}

/** A tensor of the checkpoint that is read once and serves all its uses. */
export type PlannedTensor = PlainTensor | PackedTensor;

interface PlannedPlace {
  source: TensorPlace;
  /** Name of the file that it is in, for messages. */
  file: string;
  /** As a matrix [rows, columns]; a vector is one row. */
  rows: number;
  columns: number;
  uses: TensorUse[];
}

/** One whose rows lie one after the other, each of whole blocks of one type. */
export interface PlainTensor extends PlannedPlace {
  dtype: GgmlType;
  packed?: undefined;
}

/** The weights of a quantized matrix, which need other tensors to be decoded; rows are outputs. */
export interface PackedTensor extends PlannedPlace {
  packed: PackedPlace;
}

export interface PackedPlace {
  matrix: PackedMatrix;
  /** Where each of the matrix's `sides` is. */
  sides: readonly { source: TensorPlace; file: ModelFile }[];
}

export interface PlannedFile {
  file: ModelFile;
  /** In file order. */
  tensors: PlannedTensor[];
  /** The bytes from the first to the last tensor that is needed, those beside packed ones included. */
  start: number;
  end: number;
}

/**
 * @param opened where the headers have been read already (GGUF, whose first header has the config, too)
 * @throws WordloomError model-not-found, tensor-missing, tensor-mismatch, model-unsupported (dtype), file-invalid
 */
export async function planCheckpoint(
  files: ModelFiles,
  spec: DecoderSpec,
  signal: AbortSignal | undefined,
  opened?: Checkpoint,
): Promise<PlannedFile[]> {
  const checkpoint = opened ?? (await openCheckpoint(files, spec, signal));
  const planned = new Map<string, PlannedTensor>();
  const perFile = new Map<ModelFile, PlannedFile>();
  /** The file, with what is needed of it up to now. */
  const needed = (file: ModelFile, { start, end }: TensorPlace): PlannedFile => {
    const part = perFile.get(file) ?? { file, tensors: [], start, end };
    part.start = Math.min(part.start, start);
    part.end = Math.max(part.end, end);
    perFile.set(file, part);
    return part;
  };
  for (const binding of spec.tensors) {
    const packed = checkpoint.packed?.(binding);
    const { source, file } = packed ?? checkpoint.locate(binding);
    let tensor = planned.get(source.name);
    if (tensor === undefined) {
      const place = { source, file: file.name };
      tensor =
        packed === undefined
          ? { ...place, dtype: elementType(place, checkpoint.types), ...asMatrix(place, binding), uses: [] }
          : { ...place, packed, rows: packed.matrix.rows, columns: packed.matrix.columns, uses: [] };
      planned.set(source.name, tensor);
      needed(file, source).tensors.push(tensor);
      for (const side of packed?.sides ?? []) needed(side.file, side.source);
    }
    tensor.uses.push(planUse(binding, tensor));
  }
  for (const { tensors } of perFile.values()) tensors.sort((a, b) => a.source.start - b.source.start);
  return [...perFile.values()];
}

/** A tensor in a file, whichever format that has: its shape rows first, its first byte, and the byte after the last. */
export type TensorPlace = SafetensorsTensor;

export interface Checkpoint {
  /** The element types that its format has and that can be read. */
  types: readonly GgmlType[];
  /** The tensor that a binding names, and the file that holds it. */
  locate(binding: TensorBinding): Located;
  /** The same where the checkpoint holds it quantized, in several tensors; undefined where it is one of `types`. */
  packed?(binding: TensorBinding): (Located & PackedPlace) | undefined;
}

interface Located {
  source: TensorPlace;
  file: ModelFile;
}

/** Of safetensors. */
const FLOATS: readonly GgmlType[] = ["F32", "F16", "BF16"];

/**
 * Of safetensors: one file, or the shards of an index; where there is an index, it decides, and other files are not looked
 * at.
 *
 * @throws WordloomError model-not-found, tensor-missing, file-invalid
 */
export async function openCheckpoint(
  files: ModelFiles,
  spec: DecoderSpec,
  signal?: AbortSignal,
  quantization?: Quantization,
): Promise<Checkpoint> {
  const readPacked = quantization && (await packedReader(quantization));
  const indexJson = await readJson(files, INDEX_FILE, { signal, optional: true });
  if (indexJson !== undefined) {
    return openShards(files, spec, parseSafetensorsIndex(indexJson, INDEX_FILE), signal, readPacked);
  }
  const file = await files.find(SINGLE_FILE, signal);
  if (file === undefined) {
    const message = `there is no ${SINGLE_FILE} in ${files.description}, and no ${INDEX_FILE}`;
    throw new WordloomError("model-not-found", message);
  }
  const { tensors } = await readHeader(file, files, signal);
  const find = (name: string) => {
    const source = tensors.get(name);
    return source === undefined ? undefined : { source, file };
  };
  return checkpointOf(tensors, `${SINGLE_FILE} with its ${tensors.size} tensors`, find, readPacked);
}

/** The matrix of a module; undefined where the checkpoint holds it as floats. */
type ReadPacked = (module: PackedModule) => PackedMatrix | undefined;

/** Others' quantized formats are loaded only where a model has one. */
async function packedReader(quantization: Quantization): Promise<ReadPacked> {
  const { packedMatrixOf } = await ownModule(import("./packed-weights"));
  return (module) => packedMatrixOf(quantization, module);
}

async function openShards(
  files: ModelFiles,
  spec: DecoderSpec,
  index: SafetensorsIndex,
  signal?: AbortSignal,
  readPacked?: ReadPacked,
): Promise<Checkpoint> {
  const where = `${INDEX_FILE} with its ${index.files.size} tensors`;
  const shards = new Map<string, { file: ModelFile; header?: SafetensorsHeader }>();
  // All files must be there before the first of them is read.
  for (const shard of neededShards(spec, index, where, readPacked !== undefined)) {
    const file = await files.find(shard, signal);
    if (file === undefined) {
      const listed = [...index.files.values()].filter((name) => name === shard).length;
      const message = `${shard} is missing in ${files.description}; ${INDEX_FILE} lists ${listed} tensors in it`;
      throw new WordloomError("tensor-missing", message);
    }
    shards.set(shard, { file });
  }
  for (const opened of shards.values()) opened.header = await readHeader(opened.file, files, signal);
  const find = (name: string) => {
    const shard = index.files.get(name);
    if (shard === undefined) return undefined;
    const opened = shards.get(shard);
    const source = opened?.header?.tensors.get(name);
    if (opened === undefined || source === undefined) {
      throw new WordloomError("tensor-missing", `${name} is not in ${shard}, where ${INDEX_FILE} lists it`);
    }
    return { source, file: opened.file };
  };
  return checkpointOf(index.files, where, find, readPacked);
}

/** Those with a tensor that a binding names or, in a quantized checkpoint, with any tensor of its module. */
function neededShards(spec: DecoderSpec, { files }: SafetensorsIndex, where: string, quantized: boolean): Set<string> {
  const shards = new Set<string>();
  const modules = new Set<string>();
  for (const binding of spec.tensors) {
    const name = firstKnown(binding, files);
    const shard = name === undefined ? undefined : files.get(name);
    if (shard !== undefined) shards.add(shard);
    else if (!quantized) throw missing(binding, where, files);
    if (quantized) binding.from.forEach((from) => modules.add(moduleOf(from)));
  }
  if (modules.size === 0) return shards;
  for (const [name, shard] of files) {
    for (let end = name.indexOf("."); end >= 0; end = name.indexOf(".", end + 1)) {
      if (modules.has(name.slice(0, end))) shards.add(shard);
    }
  }
  return shards;
}

/**
 * @param known the names of all tensors
 * @param where these are, for messages
 */
function checkpointOf(
  known: ReadonlyMap<string, unknown>,
  where: string,
  find: (name: string) => Located | undefined,
  readPacked: ReadPacked | undefined,
): Checkpoint {
  const checkpoint: Checkpoint = {
    types: FLOATS,
    locate: (binding) => {
      const name = firstKnown(binding, known);
      const located = name === undefined ? undefined : find(name);
      if (located === undefined) throw missing(binding, where, known);
      return located;
    },
  };
  if (readPacked === undefined) return checkpoint;
  const place = (name: string): Located => {
    const located = find(name);
    if (located === undefined) throw new WordloomError("internal", `${name} was there before`);
    return located;
  };
  return {
    ...checkpoint,
    packed: ({ from, shape: [rows, columns], rows: part }) => {
      for (const name of from.filter((each) => each.endsWith(WEIGHT))) {
        const module = { name: moduleOf(name), rows: part?.of ?? rows, columns };
        const findPart = (each: string) => {
          const located = find(each);
          return located === undefined ? undefined : { ...located.source, file: located.file.name };
        };
        const matrix = readPacked({ ...module, find: findPart });
        if (matrix === undefined) continue;
        return { ...place(matrix.main.name), matrix, sides: matrix.sides.map((side) => place(side.name)) };
      }
      return undefined;
    },
  };
}

const WEIGHT = ".weight";

/** Of one of its tensors: the name without ".weight" or ".bias". */
function moduleOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(".")));
}

async function readHeader(file: ModelFile, files: ModelFiles, signal?: AbortSignal): Promise<SafetensorsHeader> {
  const label = `${file.name} (${files.description})`;
  const firstBytes = await readBytes(file, { end: FIRST_READ_BYTES, maxBytes: FIRST_READ_BYTES, signal });
  const headerBytes = safetensorsHeaderBytes(firstBytes, file.sizeBytes, label);
  if (headerBytes <= firstBytes.length) return parseSafetensorsHeader(firstBytes, file.sizeBytes, label);
  const rest = await readBytes(file, { start: firstBytes.length, end: headerBytes, maxBytes: headerBytes, signal });
  const bytes = new Uint8Array(firstBytes.length + rest.length);
  bytes.set(firstBytes);
  bytes.set(rest, firstBytes.length);
  return parseSafetensorsHeader(bytes, file.sizeBytes, label);
}

function firstKnown(binding: TensorBinding, known: ReadonlyMap<string, unknown>): string | undefined {
  return binding.from.find((name) => known.has(name));
}

function missing(binding: TensorBinding, where: string, known: ReadonlyMap<string, unknown>): WordloomError {
  const message = `${binding.from.join(" or ")} is not in ${where}`;
  const packed = binding.from.map((from) => `${moduleOf(from)}.qweight`).find((name) => known.has(name));
  if (packed === undefined) return new WordloomError("tensor-missing", message);
  return new WordloomError("tensor-missing", `${message}; ${packed} is`, {
    remedy:
      "It is quantized, and config.json does not say how: take the model from where it has a quantization_config.",
  });
}

type PlaceInFile = Pick<PlannedTensor, "source" | "file">;

function elementType({ source: { name, dtype }, file }: PlaceInFile, types: readonly GgmlType[]): GgmlType {
  const type = types.find((each) => each === dtype);
  if (type !== undefined) return type;
  const listed = (word: string) => `${types.slice(0, -1).join(", ")} ${word} ${types.at(-1)}`;
  throw new WordloomError("model-unsupported", `${file}: ${name} is held as ${dtype}; ${listed("and")} can be read`, {
    remedy: `Choose a checkpoint of the model in ${listed("or")}.`,
  });
}

/** A vector is one row. */
function asMatrix(place: PlaceInFile, binding: TensorBinding): { rows: number; columns: number } {
  const { source } = place;
  // A filter for each column is [columns, 1, taps], as convolutions are.
  const shape =
    source.shape.length === 3 && source.shape[1] === 1 ? source.shape.filter((_, i) => i !== 1) : source.shape;
  const [first, second] = shape;
  if (shape.length === 1 && first !== undefined) return { rows: 1, columns: first };
  if (shape.length === 2 && first !== undefined && second !== undefined) return { rows: first, columns: second };
  throw mismatch(place, binding);
}

/** Where in the checkpoint's tensor the decoder's tensor is, if its shape allows that. */
function planUse(binding: TensorBinding, planned: PlannedTensor): TensorUse {
  const { source, rows, columns } = planned;
  const { name, offset = 0 } = binding;
  const transpose = binding.transpose && planned.packed === undefined; // quantized ones are [outputs, inputs] everywhere
  const [ownRows, ownColumns] = binding.shape;
  const isVector = source.shape.length === 1;
  if (transpose && isVector) throw mismatch(planned, binding);
  // Of a vector, elements are taken; of a matrix, rows.
  const own = isVector ? ownColumns : ownRows;
  const whole = binding.rows?.of ?? own;
  const runs = rowRuns(binding, own);
  const last = runs.at(-1);
  if (last === undefined || last.from + last.count > whole || last.to + last.count !== own) {
    throw new WordloomError("internal", `${name} lies outside of ${source.name}`);
  }
  const needed = isVector ? [1, whole] : transpose ? [ownColumns, whole] : [whole, ownColumns];
  if (rows !== needed[0] || columns !== needed[1] || (isVector && ownRows !== 1)) throw mismatch(planned, binding);
  if (offset !== 0 && !isVector) throw new WordloomError("internal", `${name} has an offset, and is no vector`);
  return { name, transpose, runs, rows: ownRows, columns: ownColumns, offset };
}

function rowRuns({ rows }: TensorBinding, own: number): RowRun[] {
  const first = rows?.first ?? 0;
  const { size, stride } = rows?.blocks ?? { size: own, stride: own };
  return Array.from({ length: Math.ceil(own / size) }, (_, block) => ({
    from: first + block * stride,
    to: block * size,
    count: size,
  }));
}

function mismatch({ source, file }: PlaceInFile, binding: TensorBinding): WordloomError {
  const [rows, columns] = binding.shape;
  const whole = binding.rows?.of ?? rows;
  const matrix = binding.transpose ? [columns, whole] : [whole, columns];
  const isVector = rows === 1 && !binding.transpose && source.shape.length !== 2;
  const needed = isVector ? [binding.rows?.of ?? columns] : matrix;
  return new WordloomError(
    "tensor-mismatch",
    `${file}: ${source.name} is [${source.shape.join(", ")}]; by config.json it should be [${needed.join(", ")}]`,
  );
}
