/** Which format a model's files have. */
import { findGguf } from "../storage/gguf-files";
import type { ModelFiles } from "../storage/model-files";
import { openFolder } from "./folder-model";
import type { ModelParts } from "./model-parts";
import { ownModule } from "../own-module";

/**
 * @param onFile called with the file that is read first, before it is
 * @throws WordloomError for a source without a model, and for one that is not supported
 */
export async function readModelParts(
  files: ModelFiles,
  signal: AbortSignal,
  onFile: (name: string) => void = () => {},
): Promise<ModelParts> {
  const gguf = await findGguf(files, signal);
  onFile(gguf?.[0] ?? "config.json");
  if (gguf === undefined) return openFolder(files, signal);
  const { openGguf } = await ownModule(import("./gguf-model")); // only where it is used
  return openGguf(files, gguf, signal);
}
