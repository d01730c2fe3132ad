/** Model folders as vitest's server gives them to tests in a browser. */
import { readFloat32Safetensors } from "./checkpoint";
import type { GoldenCase, GoldenModel } from "./golden-case";
import type { Checkpoint } from "./golden-run";

export const BUNDLED_URL = "/models/wordloom-stories/";
export const goldenUrl = (model: GoldenModel) => `/src/testing/golden/${model}/`;

export async function servedBytes(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered with ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

export async function servedJson<T>(url: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await servedBytes(url))) as T; // its callers know the file
}

export async function goldenCasesServed(model: GoldenModel): Promise<GoldenCase[]> {
  return (await servedJson<{ cases: GoldenCase[] }>(`${goldenUrl(model)}golden.json`)).cases;
}

/** @param url of a folder, ending in "/", whose weights are float32 */
export async function servedCheckpoint(url: string): Promise<Checkpoint> {
  const [config, bytes] = await Promise.all([
    servedJson<Record<string, unknown>>(`${url}config.json`),
    servedBytes(`${url}model.safetensors`),
  ]);
  return { config, tensors: readFloat32Safetensors(bytes) };
}

/** The files of a golden folder that a source needs, by name. */
export async function goldenFilesServed(model: GoldenModel): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const names = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
  ];
  return new Map(
    await Promise.all(names.map(async (name) => [name, await servedBytes(`${goldenUrl(model)}${name}`)] as const)),
  );
}
