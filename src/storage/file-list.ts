/** A model as File objects: an `<input webkitdirectory>`, a dropped folder, or files picked one by one. */
import { WordloomError } from "../errors";
import { isGguf } from "./gguf-files";
import { guardedStream } from "./guarded-stream";
import type { ModelFile, ModelFiles } from "./model-files";

/**
 * The folder nearest to the top that has a config.json or a GGUF file is the model; files elsewhere are not looked at.
 *
 * @throws WordloomError source-unsupported if there is none, or more than one to choose from
 */
export function openFileList(list: readonly File[]): ModelFiles {
  const folders = new Map<string, Map<string, File>>();
  for (const file of list) {
    // Empty for files that were not chosen as a folder; Node's File has no such property.
    const path = (file.webkitRelativePath as string | undefined) || file.name;
    const slash = path.lastIndexOf("/");
    const folder = path.slice(0, Math.max(slash, 0));
    const files = folders.get(folder) ?? new Map<string, File>();
    folders.set(folder, files);
    const name = path.slice(slash + 1);
    if (files.has(name)) {
      throw new WordloomError("source-unsupported", `two of the files are called ${name}; pass those of one model`);
    }
    files.set(name, file);
  }
  const [folder, files] = modelFolder(folders, list);
  const description = folder === "" ? `the ${list.length} given files` : `the folder ${folder}`;
  return {
    description,
    list: () => Promise.resolve([...files.keys()]),
    find: (name, signal) => {
      if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
      const file = files.get(name);
      return Promise.resolve(file === undefined ? undefined : blobFile(name, file, description));
    },
  };
}

function modelFolder(
  folders: ReadonlyMap<string, ReadonlyMap<string, File>>,
  list: readonly File[],
): readonly [string, ReadonlyMap<string, File>] {
  const depth = (folder: string) => (folder === "" ? 0 : folder.split("/").length);
  const isModel = (files: ReadonlyMap<string, File>) => files.has("config.json") || [...files.keys()].some(isGguf);
  const models = [...folders].filter(([, files]) => isModel(files)).sort((a, b) => depth(a[0]) - depth(b[0]));
  const [first, second] = models;
  if (first === undefined) {
    const message = `no config.json and no GGUF file among the ${list.length} files`;
    throw new WordloomError("source-unsupported", message, {
      remedy: "Choose a .gguf file, or the whole folder of a model: config.json, tokenizer.json, model.safetensors.",
    });
  }
  if (second !== undefined && depth(second[0]) === depth(first[0])) {
    throw new WordloomError("source-unsupported", `there are ${models.length} models: ${first[0]}, ${second[0]} …`, {
      remedy: "Choose the folder of one model.",
    });
  }
  return first;
}

/**
 * A file of this device.
 *
 * @param description of the folder, for messages
 */
export function blobFile(name: string, blob: Blob, description: string): ModelFile {
  return {
    name,
    sizeBytes: blob.size,
    stream: ({ start = 0, end = blob.size, signal } = {}) => {
      if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
      const part = blob.slice(start, Math.max(start, end));
      const failure = (cause: unknown) =>
        new WordloomError("file-invalid", `${name} of ${description} could not be read: ${String(cause)}`, {
          remedy: "Choose the files again: they were changed or removed after they were chosen.",
          cause,
        });
      return Promise.resolve(guardedStream(part.stream(), { signal, failure }));
    },
  };
}
