/** Files and folders dropped on an element, as a model's files. Nothing of them leaves the page. */
import type { ReactiveController } from "lit";

/** Files of a folder come in portions; so many portions are of no model. */
const MAX_FILES = 10_000;

/**
 * A dropped folder's own files (folders in it are not looked at), each with its path; or the files themselves.
 * To be called while the event is being handled: afterwards a browser gives nothing out.
 */
export async function droppedFiles(transfer: DataTransfer): Promise<File[]> {
  const items = [...transfer.items].filter(({ kind }) => kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry());
  const plain = items.map((item) => item.getAsFile()).filter((file) => file !== null);
  const folders = entries.filter((entry): entry is FileSystemDirectoryEntry => entry?.isDirectory === true);
  if (folders.length === 0) return plain;
  return (await Promise.all(folders.map(filesOf))).flat();
}

async function filesOf(folder: FileSystemDirectoryEntry): Promise<File[]> {
  const reader = folder.createReader();
  const files: File[] = [];
  for (;;) {
    const portion = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (portion.length === 0 || files.length > MAX_FILES) return files;
    for (const entry of portion) {
      if (!entry.isFile) continue;
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      // Files chosen as a folder have their path; those of a dropped one do not.
      Object.defineProperty(file, "webkitRelativePath", { value: `${folder.name}/${file.name}` });
      files.push(file);
    }
  }
}

/** While files are held over the element it has the attribute `drop-target`; when they are dropped, `take` gets them. */
export class FileDrop implements ReactiveController {
  constructor(
    private readonly host: HTMLElement,
    private readonly take: (files: Promise<File[]>) => void,
  ) {}

  hostConnected(): void {
    this.host.addEventListener("dragover", this.#onOver);
    this.host.addEventListener("dragleave", this.#onLeave);
    this.host.addEventListener("drop", this.#onDrop);
  }

  hostDisconnected(): void {
    this.host.removeEventListener("dragover", this.#onOver);
    this.host.removeEventListener("dragleave", this.#onLeave);
    this.host.removeEventListener("drop", this.#onDrop);
    this.#onLeave();
  }

  readonly #onOver = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes("Files") !== true) return; // dragged text goes where it is dropped
    event.preventDefault(); // says that a drop is welcome
    event.dataTransfer.dropEffect = "copy";
    this.host.toggleAttribute("drop-target", true);
  };

  readonly #onLeave = (): void => {
    this.host.toggleAttribute("drop-target", false);
  };

  readonly #onDrop = (event: DragEvent): void => {
    this.#onLeave();
    if (event.dataTransfer?.types.includes("Files") !== true) return;
    event.preventDefault(); // else the browser would open the file
    this.take(droppedFiles(event.dataTransfer));
  };
}
