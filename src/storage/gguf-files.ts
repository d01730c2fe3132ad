/** Which GGUF file of a source is meant, and its parts: a large model is split into files that lie side by side. */
import { WordloomError } from "../errors";
import type { ModelFiles } from "./model-files";

export function isGguf(name: string): boolean {
  return /\.gguf$/i.test(name);
}

/** llama.cpp's names of parts. */
const PART = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/i;
/** As many as the names of the parts allow for. */
const MAX_PARTS = 999;

/**
 * The file that the source names; else, where there are no safetensors, the only one in the folder.
 *
 * @returns the names of its parts in order, usually one; undefined where the model is in other files
 * @throws WordloomError source-unsupported where there are several to choose from
 */
export async function findGguf(files: ModelFiles, signal: AbortSignal | undefined): Promise<string[] | undefined> {
  if (files.chosen !== undefined) return partsOf(files.chosen);
  const names = (await files.list?.(signal)) ?? [];
  if (names.some((name) => name === "model.safetensors" || name === "model.safetensors.index.json")) return undefined;
  // Files that begin with this hold the vision part of a model.
  const models = new Map(
    names.filter((name) => isGguf(name) && !/(^|\/)mmproj/i.test(name)).map((name) => [whole(name), name]),
  );
  const [first, ...others] = [...models.values()].sort();
  if (first === undefined) return undefined;
  if (others.length > 0) {
    const shown = [first, ...others].slice(0, 20).join(", ");
    const message = `there are ${models.size} GGUF models in ${files.description}: ${shown}${models.size > 20 ? " …" : ""}`;
    throw new WordloomError("source-unsupported", message, { remedy: "Name one of these files, or pass it alone." });
  }
  return partsOf(first);
}

/** What the parts of one model have in common. */
function whole(name: string): string {
  return name.replace(PART, "$1-of-$3$4");
}

function partsOf(name: string): string[] {
  const [, stem = "", , total = "", suffix = ""] = PART.exec(name) ?? [];
  const count = Number(total);
  if (total === "") return [name];
  if (count < 1 || count > MAX_PARTS) {
    throw new WordloomError("source-unsupported", `${name} is one of ${count} parts; 1 to ${MAX_PARTS} are expected`);
  }
  return Array.from({ length: count }, (_, i) => `${stem}-${String(i + 1).padStart(5, "0")}-of-${total}${suffix}`);
}
