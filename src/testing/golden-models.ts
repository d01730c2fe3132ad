/** The golden checkpoints of src/testing/golden, read from disk; Node only. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type CheckpointTensor, readFloat32Safetensors } from "./checkpoint";
import type { GoldenCase, GoldenModel } from "./golden-case";

export { GOLDEN_MODELS, type GoldenCase, type GoldenModel } from "./golden-case";

export function goldenFolder(model: GoldenModel): string {
  return fileURLToPath(new URL(`golden/${model}/`, import.meta.url));
}

export function goldenCases(model: GoldenModel): GoldenCase[] {
  return (readFolderJson(goldenFolder(model), "golden.json") as { cases: GoldenCase[] }).cases; // our own file
}

/** A JSON object of a model folder, free to be changed by the caller. */
export function readFolderJson(folder: string, file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) as Record<string, unknown>; // files that hold objects
}

export function readCheckpoint(folder: string): Map<string, CheckpointTensor> {
  return readFloat32Safetensors(readFileSync(`${folder}/model.safetensors`));
}
