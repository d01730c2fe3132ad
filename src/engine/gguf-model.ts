/** A model in GGUF files: their headers read once, and from them config, tokenizer and the places of the weights. */
import { WordloomError } from "../errors";
import { decodeGgml } from "../formats/ggml-decode";
import { keptAs } from "../formats/ggml-kept";
import { DECODED_TYPES, isDecoded } from "../formats/ggml-types";
import { MAX_GGUF_HEADER_BYTES, parseGgufHeader, type GgufHeader, type GgufTensor } from "../formats/gguf";
import type { HeldDtype } from "../formats/quantization";
import { readBytes } from "../formats/read-json";
import type { DecoderSpec, TensorName } from "../models/decoder-spec";
import { ggufConfig } from "../models/gguf-config";
import { bindGguf } from "../models/gguf-tensors";
import { readModelConfig } from "../models/registry";
import type { ModelFile, ModelFiles } from "../storage/model-files";
import { ggufTokenizer } from "../tokenizer/gguf-tokenizer";
import { createTokenizer } from "../tokenizer/load-tokenizer";
import type { Tokenizer } from "../tokenizer/tokenizer";
import type { ModelParts } from "./model-parts";

/** Holds the metadata of files with small vocabularies; each further read is four times what is there, or what is missing. */
const FIRST_READ_BYTES = 256 * 1024;
const GROWTH = 4;

/** The largest list of factors for RoPE: one for each pair of a head. */
const MAX_FACTOR_BYTES = 4096;

/**
 * @param names of the parts of one model, in order
 * @throws WordloomError model-not-found, file-invalid, model-unsupported, config-invalid, config-unsupported
 */
export async function openGguf(files: ModelFiles, names: readonly string[], signal: AbortSignal): Promise<ModelParts> {
  const parts: Part[] = [];
  for (const name of names) {
    const file = await files.find(name, signal);
    if (file === undefined) {
      const message = `there is no ${name} in ${files.description}`;
      throw new WordloomError(
        "model-not-found",
        names.length === 1 ? message : `${message}; the model has ${names.length} parts`,
        {
          remedy: "Check the address of the .gguf file; all parts of a split one have to lie side by side.",
        },
      );
    }
    parts.push({ file, header: await readHeader(file, files, signal) });
  }
  const tensors = collect(parts);
  const metadata = parts[0]?.header.metadata ?? new Map(); // there is a name at least
  const where = names[0] ?? "";
  const read = (name: string) => readFactors(tensors.get(name), signal);
  const [long, short] = [await read("rope_factors_long.weight"), await read("rope_factors_short.weight")];
  const { config, generationConfig, pairing } = ggufConfig({
    metadata,
    shapeOf: (name) => tensors.get(name)?.source.shape,
    longRope: long === undefined || short === undefined ? undefined : { long, short },
    where,
  });
  const model = readModelConfig(config, generationConfig, undefined, where);
  const frequencyDivisors = await read("rope_freqs.weight");
  const spec = bindGguf(model.spec, (name) => tensors.has(name), { pairing, frequencyDivisors });
  return {
    ...model,
    spec,
    tokenizerFile: where,
    readTokenizer: () => Promise.resolve().then(() => readTokenizer(metadata, where)),
    checkpoint: {
      types: DECODED_TYPES,
      locate: (binding) => {
        const found = tensors.get(binding.from[0] ?? "");
        if (found !== undefined) return found;
        const message = `${binding.from[0]} is not among the ${tensors.size} tensors of ${where}`;
        throw new WordloomError("tensor-missing", message);
      },
    },
    fileTypes: typesOf(tensors),
    fileFormats: formatsOf(spec, tensors),
  };
}

/** What is wrong with it is told as of a tokenizer.json, into which it is turned; and in which file it is. */
function readTokenizer(metadata: GgufHeader["metadata"], where: string): Tokenizer {
  const files = ggufTokenizer(metadata, where);
  try {
    return createTokenizer(files);
  } catch (cause) {
    if (!(cause instanceof WordloomError)) throw cause;
    const message = `${where}, its tokenizer as a tokenizer.json: ${cause.message.replace(/^tokenizer\.json: /, "")}`;
    throw new WordloomError(cause.code, message, { cause });
  }
}

interface Part {
  file: ModelFile;
  header: GgufHeader;
}

type Located = ReadonlyMap<string, { source: GgufTensor; file: ModelFile }>;

async function readHeader(file: ModelFile, files: ModelFiles, signal: AbortSignal): Promise<GgufHeader> {
  const label = `${file.name} (${files.description})`;
  let { sizeBytes } = file;
  let bytes = new Uint8Array(0);
  for (let end = FIRST_READ_BYTES; ;) {
    end = Math.min(end, MAX_GGUF_HEADER_BYTES, sizeBytes ?? Infinity);
    const more = await readBytes(file, { start: bytes.length, end, maxBytes: end - bytes.length, signal });
    bytes = joined(bytes, more);
    if (bytes.length < end) sizeBytes ??= bytes.length; // the file has ended, which nobody said before
    const header = parseGgufHeader(bytes, sizeBytes, label);
    if (!("neededBytes" in header)) return header;
    if (bytes.length < end) {
      throw new WordloomError("file-invalid", `${label} ended at byte ${bytes.length}, before ${sizeBytes}`);
    }
    end = Math.max(header.neededBytes, GROWTH * bytes.length);
  }
}

function joined(first: Uint8Array<ArrayBuffer>, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

/** The tensors of all parts, which must be those of one model. */
function collect(parts: readonly Part[]): Located {
  const all = new Map<string, { source: GgufTensor; file: ModelFile }>();
  const total = parts[0]?.header.metadata.get("split.tensors.count");
  parts.forEach(({ file, header }, index) => {
    const number = header.metadata.get("split.no") ?? 0;
    const count = header.metadata.get("split.count") ?? 1;
    // Parts of one are written without these keys, or with a count of 0.
    if (number !== index || Math.max(1, Number(count)) !== parts.length) {
      const says = `part ${Number(number) + 1} of ${String(count)}`;
      throw new WordloomError("file-invalid", `${file.name} says it is ${says}, not ${index + 1} of ${parts.length}`, {
        remedy: "Keep the names that the parts of a split model were published with, …-00001-of-0000N.gguf.",
      });
    }
    for (const [name, source] of header.tensors) {
      if (all.has(name)) throw new WordloomError("file-invalid", `${name} is in ${file.name} and in a part before it`);
      all.set(name, { source, file });
    }
  });
  if (total !== undefined && total !== all.size) {
    const message = `the ${parts.length} parts have ${all.size} tensors; the first says ${String(total)}`;
    throw new WordloomError("file-invalid", message);
  }
  return all;
}

/** A short vector, for what has to be known before the weights are loaded. */
async function readFactors(
  located: { source: GgufTensor; file: ModelFile } | undefined,
  signal: AbortSignal,
): Promise<Float32Array | undefined> {
  if (located === undefined) return undefined;
  const { file, source } = located;
  const { name, start, end, dtype, shape } = source;
  const count = shape[0] ?? 0;
  if (!isDecoded(dtype) || shape.length !== 1 || end - start > MAX_FACTOR_BYTES) {
    throw new WordloomError("tensor-mismatch", `${name} is ${dtype} [${shape.join(", ")}]; a short vector is expected`);
  }
  const bytes = await readBytes(file, { start, end, maxBytes: end - start, signal });
  if (bytes.length < end - start) {
    throw new WordloomError("file-invalid", `${file.name} ends inside of ${name}, at byte ${start + bytes.length}`);
  }
  const values = new Float32Array(count);
  decodeGgml(dtype, bytes, values, count);
  if (values.every((value) => value > 0 && value < Infinity)) return values;
  throw new WordloomError(
    "file-invalid",
    `${name} should hold positive numbers, it has ${String(values.find((v) => !(v > 0)))}`,
  );
}

/** The types of the weights in words. */
function typesOf(tensors: Located): string {
  const elements = new Map<string, { tensors: number; elements: number }>();
  for (const { source } of tensors.values()) {
    const type = elements.get(source.dtype) ?? { tensors: 0, elements: 0 };
    type.tensors += 1;
    type.elements += source.shape.reduce((product, dimension) => product * dimension, 1);
    elements.set(source.dtype, type);
  }
  return [...elements]
    .sort(([, a], [, b]) => b.elements - a.elements)
    .map(([type, { tensors }]) => `${type} (${tensors} ${tensors === 1 ? "tensor" : "tensors"})`)
    .join(", ");
}

function formatsOf(spec: DecoderSpec, tensors: Located): ReadonlyMap<TensorName, HeldDtype> {
  const formats = new Map<TensorName, HeldDtype>();
  for (const { name, from, transpose } of spec.tensors) {
    const source = tensors.get(from[0] ?? "")?.source;
    const format = source !== undefined && isDecoded(source.dtype) ? keptAs(source.dtype) : undefined;
    if (format !== undefined && !transpose && source?.shape.length === 2) formats.set(name, format);
  }
  return formats;
}
