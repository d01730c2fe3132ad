/** The vectors and the tiny models of quantized safetensors, read from disk; Node only. See packed/PROVENANCE.md. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { PackedPart } from "../formats/packed/packed-matrix";
import { parseSafetensorsHeader } from "../formats/safetensors";
import { at } from "./at";

const FOLDER = fileURLToPath(new URL("packed/", import.meta.url));

export interface PackedVector {
  /** The part of a config.json that says how it is quantized. */
  config: unknown;
  rows: number;
  columns: number;
  /** Of the module "layer", by name. */
  parts: ReadonlyMap<string, { place: PackedPart; bytes: Uint8Array }>;
  /** [rows, columns] */
  expected: Float32Array;
}

export function packedVectors(): Map<string, PackedVector> {
  const file = "vectors.safetensors";
  const bytes = new Uint8Array(readFileSync(`${FOLDER}${file}`));
  const { tensors, metadata } = parseSafetensorsHeader(bytes, bytes.length, file);
  const vectors = new Map<string, PackedVector>();
  for (const [name, config] of Object.entries(metadata)) {
    const own = [...tensors.values()].filter((tensor) => tensor.name.startsWith(`${name}/`));
    const parts = new Map<string, { place: PackedPart; bytes: Uint8Array }>();
    for (const tensor of own) {
      const place = { ...tensor, name: tensor.name.slice(name.length + 1), file };
      parts.set(place.name, { place, bytes: bytes.slice(tensor.start, tensor.end) });
    }
    const { place, bytes: values } = partOf({ parts }, "expected");
    parts.delete("expected");
    const [rows, columns] = [at(place.shape, 0), at(place.shape, 1)];
    const expected = new Float32Array(values.slice().buffer);
    vectors.set(name, { config: JSON.parse(config) as unknown, rows, columns, parts, expected });
  }
  return vectors;
}

export function partOf({ parts }: Pick<PackedVector, "parts">, name: string): { place: PackedPart; bytes: Uint8Array } {
  const part = parts.get(name);
  if (part === undefined) throw new Error(`the vector has no part ${name}`);
  return part;
}

/** The names of the tiny models. */
export const PACKED_MODELS = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

export interface PackedModel {
  config: Record<string, unknown>;
  /** model.safetensors */
  weights: Uint8Array;
  cases: readonly { ids: number[]; logprobs_f64: number[] }[];
}

export function packedModel(name: string): PackedModel {
  const json = (file: string) => JSON.parse(readFileSync(`${FOLDER}${name}/${file}`, "utf8")) as unknown;
  return {
    config: json("config.json") as PackedModel["config"], // our own file, as below
    weights: new Uint8Array(readFileSync(`${FOLDER}${name}/model.safetensors`)),
    cases: (json("golden.json") as Pick<PackedModel, "cases">).cases,
  };
}
