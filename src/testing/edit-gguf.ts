/** A GGUF file with other metadata: the whole file is written anew, its tensors as they were. */
import { parseGgufHeader, type GgufHeader, type GgufValue } from "../formats/gguf";
import { makeGguf, type MadeTensor, type MadeValue } from "./make-gguf";

const TYPE_NUMBERS: Readonly<Record<string, number>> = { F32: 0, F16: 1, Q4_0: 2, Q8_0: 8 };

export function headerOf(bytes: Uint8Array): GgufHeader {
  const header = parseGgufHeader(bytes, bytes.length);
  if ("neededBytes" in header) throw new Error("the file is not whole");
  return header;
}

/** @param changes key → new value, or undefined to remove it; keys that are not there yet come last */
export function editGguf(
  bytes: Uint8Array,
  changes: Readonly<Record<string, MadeValue | undefined>>,
  editTensors: (tensors: readonly MadeTensor[]) => readonly MadeTensor[] = (tensors) => tensors,
): Uint8Array<ArrayBuffer> {
  const header = headerOf(bytes);
  const kept = [...header.metadata]
    .filter(([key]) => !Object.hasOwn(changes, key))
    .map(([key, value]) => [key, madeOf(value)] as const);
  const changed = Object.entries(changes).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value] as const],
  );
  const tensors = [...header.tensors.values()].map(({ name, shape, dtype, start, end }) => ({
    name,
    shape,
    type: TYPE_NUMBERS[dtype] ?? NaN,
    bytes: bytes.subarray(start, end),
  }));
  return makeGguf({ metadata: [...kept, ...changed], tensors: editTensors(tensors) });
}

/** The types that llama.cpp writes for such values. */
function madeOf(value: GgufValue): MadeValue {
  if (typeof value === "string") return ["string", value];
  if (typeof value === "boolean") return ["bool", value];
  if (typeof value === "number") return [Number.isInteger(value) ? "u32" : "f32", value];
  const items = Array.from(value as ArrayLike<unknown>); // every kind of list is one
  const type = value instanceof Float32Array ? "f32" : typeof items[0] === "string" ? "string" : "i32";
  return ["array", [type, items]];
}
