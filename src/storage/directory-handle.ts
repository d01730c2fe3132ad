/** A model as a FileSystemDirectoryHandle (showDirectoryPicker, a dropped folder, OPFS). */
import { WordloomError } from "../errors";
import { blobFile } from "./file-list";
import type { ModelFiles } from "./model-files";

/** The handle's own files; folders inside it are not looked at. Permission must have been granted on the page. */
export function openDirectoryHandle(directory: FileSystemDirectoryHandle): ModelFiles {
  const description = `the folder ${directory.name}`;
  return {
    description,
    async list(signal) {
      const names: string[] = [];
      for await (const [name, handle] of directory.entries()) {
        signal?.throwIfAborted();
        if (handle.kind === "file") names.push(name);
      }
      return names;
    },
    async find(name, signal) {
      signal?.throwIfAborted();
      try {
        const handle = await directory.getFileHandle(name);
        const file = await handle.getFile();
        signal?.throwIfAborted();
        return blobFile(name, file, description);
      } catch (cause) {
        signal?.throwIfAborted();
        const kind = cause instanceof Error || cause instanceof DOMException ? cause.name : "";
        if (kind === "NotFoundError") return undefined;
        if (kind === "NotAllowedError" || kind === "SecurityError") {
          throw new WordloomError("access-denied", `${name} of ${description} may not be read`, {
            remedy: "Choose the folder again, and allow the page to read it.",
            cause,
          });
        }
        throw new WordloomError("file-invalid", `${name} of ${description} could not be opened: ${String(cause)}`, {
          cause,
        });
      }
    },
  };
}
