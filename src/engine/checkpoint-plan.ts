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
import type { DecoderSpec, TensorBinding } from "../models/decoder-spec";
import type { ModelFile, ModelFiles } from "../storage/model-files";

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
export interface PlannedTensor {
  source: TensorPlace;
  /** Name of the file that it is in, for messages. */
  file: string;
  dtype: GgmlType;
  /** As it lies in the file; a vector is one row. */
  rows: number;
  columns: number;
  uses: TensorUse[];
}

export interface PlannedFile {
  file: ModelFile;
  /** In file order. */
  tensors: PlannedTensor[];
  /** The bytes from the first to the last tensor that is needed. */
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
  const perFile = new Map<ModelFile, PlannedTensor[]>();
  for (const binding of spec.tensors) {
    const { source, file } = checkpoint.locate(binding);
    let tensor = planned.get(source.name);
    if (tensor === undefined) {
      const place = { source, file: file.name };
      tensor = { ...place, dtype: elementType(place, checkpoint.types), ...asMatrix(place, binding), uses: [] };
      planned.set(source.name, tensor);
      perFile.set(file, [...(perFile.get(file) ?? []), tensor]);
    }
    tensor.uses.push(planUse(binding, tensor));
  }
  return [...perFile].map(([file, tensors]) => {
    tensors.sort((a, b) => a.source.start - b.source.start);
    const start = tensors[0]?.source.start ?? 0;
    return { file, tensors, start, end: tensors.reduce((last, { source }) => Math.max(last, source.end), start) };
  });
}

/** A tensor in a file, whichever format that has: its shape rows first, its first byte, and the byte after the last. */
export type TensorPlace = SafetensorsTensor;

export interface Checkpoint {
  /** The element types that its format has and that can be read. */
  types: readonly GgmlType[];
  /** The tensor that a binding names, and the file that holds it. */
  locate(binding: TensorBinding): { source: TensorPlace; file: ModelFile };
}

/** Of safetensors. */
const FLOATS: readonly GgmlType[] = ["F32", "F16", "BF16"];

/** One file, or the shards of an index; where there is an index, it decides, and other files are not looked at. */
async function openCheckpoint(files: ModelFiles, spec: DecoderSpec, signal?: AbortSignal): Promise<Checkpoint> {
  const indexJson = await readJson(files, INDEX_FILE, { signal, optional: true });
  if (indexJson !== undefined) return openShards(files, spec, parseSafetensorsIndex(indexJson, INDEX_FILE), signal);
  const file = await files.find(SINGLE_FILE, signal);
  if (file === undefined) {
    const message = `there is no ${SINGLE_FILE} in ${files.description}, and no ${INDEX_FILE}`;
    throw new WordloomError("model-not-found", message);
  }
  const { tensors } = await readHeader(file, files, signal);
  return {
    types: FLOATS,
    locate: (binding) => {
      const name = firstKnown(binding, tensors);
      const source = name === undefined ? undefined : tensors.get(name);
      if (source === undefined) throw missing(binding, `${SINGLE_FILE} with its ${tensors.size} tensors`);
      return { source, file };
    },
  };
}

async function openShards(
  files: ModelFiles,
  spec: DecoderSpec,
  index: SafetensorsIndex,
  signal?: AbortSignal,
): Promise<Checkpoint> {
  const shardOf = (binding: TensorBinding): { name: string; shard: string } => {
    const name = firstKnown(binding, index.files);
    const shard = name === undefined ? undefined : index.files.get(name);
    if (name === undefined || shard === undefined) {
      throw missing(binding, `${INDEX_FILE} with its ${index.files.size} tensors`);
    }
    return { name, shard };
  };
  const shards = new Map<string, { file: ModelFile; header?: SafetensorsHeader }>();
  // All files must be there before the first of them is read.
  for (const shard of new Set(spec.tensors.map((binding) => shardOf(binding).shard))) {
    const file = await files.find(shard, signal);
    if (file === undefined) {
      const listed = [...index.files.values()].filter((name) => name === shard).length;
      const message = `${shard} is missing in ${files.description}; ${INDEX_FILE} lists ${listed} tensors in it`;
      throw new WordloomError("tensor-missing", message);
    }
    shards.set(shard, { file });
  }
  for (const opened of shards.values()) opened.header = await readHeader(opened.file, files, signal);
  return {
    types: FLOATS,
    locate: (binding) => {
      const { name, shard } = shardOf(binding);
      const opened = shards.get(shard);
      const source = opened?.header?.tensors.get(name);
      if (opened === undefined || source === undefined) {
        throw new WordloomError("tensor-missing", `${name} is not in ${shard}, where ${INDEX_FILE} lists it`);
      }
      return { source, file: opened.file };
    },
  };
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

function missing(binding: TensorBinding, where: string): WordloomError {
  return new WordloomError("tensor-missing", `${binding.from.join(" or ")} is not in ${where}`);
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
  const [first, second] = source.shape;
  if (source.shape.length === 1 && first !== undefined) return { rows: 1, columns: first };
  if (source.shape.length === 2 && first !== undefined && second !== undefined) return { rows: first, columns: second };
  throw mismatch(place, binding);
}

/** Where in the checkpoint's tensor the decoder's tensor is, if its shape allows that. */
function planUse(binding: TensorBinding, planned: PlannedTensor): TensorUse {
  const { source, rows, columns } = planned;
  const { name, transpose, offset = 0 } = binding;
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
