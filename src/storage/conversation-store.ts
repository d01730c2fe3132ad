/** Saved conversations on this device: one file each, in a folder of the origin private file system. */
import { WordloomError } from "../errors";
import { isNotFound, openFileWriter, removeIfThere } from "./file-writer";
import { entriesOf, exclusively, storageFailure, type StorePlace } from "./model-store";

const FOLDER = "wordloom-conversations";
/** Of a name as it stands in the file system, which allows 255 bytes. */
const MAX_NAME_LENGTH = 200;
/** While a file is being written the one before it stays; the endings tell them apart. */
const ENDINGS = [".0", ".1"] as const;

export interface StoredConversation {
  name: string;
  bytes: number;
  savedAt: Date;
}

export class ConversationStore {
  constructor(readonly place: StorePlace) {}

  /**
   * Takes the place of what was saved under that name, once all of it is written.
   *
   * @param parts are asked for one by one
   * @throws WordloomError option-invalid for a name that is too long; storage-failed; what `parts` throws
   */
  async write(name: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
    const base = encodedName(name);
    await this.#failing(() =>
      exclusively(this.place.locks, `${FOLDER}/${base}`, async () => {
        const folder = await this.#folder();
        const before = await newest(folder, base);
        const ending = before?.ending === ENDINGS[0] ? ENDINGS[1] : ENDINGS[0];
        const writer = await openFileWriter(await folder.getFileHandle(base + ending, { create: true }));
        try {
          for await (const part of parts) await writer.write(part);
          await writer.close();
        } catch (error) {
          await writer.abandon().catch(() => undefined); // a writer that has failed may refuse even that
          await removeIfThere(folder, base + ending);
          throw error;
        }
        if (before) await removeIfThere(folder, base + before.ending);
      }),
    );
  }

  /** Undefined where nothing is saved under that name. */
  async read(name: string): Promise<Blob | undefined> {
    const base = encodedName(name);
    return this.#failing(async () => (await newest(await this.#folder(), base))?.file);
  }

  async list(): Promise<StoredConversation[]> {
    return this.#failing(async () => {
      const folder = await this.#folder();
      const names = new Set<string>();
      for await (const [entry] of entriesOf(folder)) names.add(entry.slice(0, -ENDINGS[0].length));
      const found: StoredConversation[] = [];
      for (const base of [...names].sort()) {
        const file = (await newest(folder, base))?.file;
        if (!file) continue; // deleted in the meantime
        found.push({ name: decodeURIComponent(base), bytes: file.size, savedAt: new Date(file.lastModified) });
      }
      return found;
    });
  }

  /** One that is not there is deleted already. */
  async delete(name: string): Promise<void> {
    const base = encodedName(name);
    await this.#failing(() =>
      exclusively(this.place.locks, `${FOLDER}/${base}`, async () => {
        const folder = await this.#folder();
        for (const ending of ENDINGS) await removeIfThere(folder, base + ending);
      }),
    );
  }

  #folder(): Promise<FileSystemDirectoryHandle> {
    return this.place.root.getDirectoryHandle(FOLDER, { create: true });
  }

  async #failing<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof WordloomError || (error instanceof DOMException && error.name === "AbortError")) throw error;
      throw new WordloomError("storage-failed", storageFailure(error), { cause: error });
    }
  }
}

/** Of the two files a name may have after a tab was closed at the wrong moment, the one that was whole first. */
async function newest(folder: FileSystemDirectoryHandle, base: string) {
  const found: { ending: (typeof ENDINGS)[number]; file: File }[] = [];
  for (const ending of ENDINGS) {
    try {
      found.push({ ending, file: await (await folder.getFileHandle(base + ending)).getFile() });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return found.sort((a, b) => a.file.lastModified - b.file.lastModified)[0];
}

function encodedName(name: string): string {
  const encoded = encodeURIComponent(name);
  if (name !== "" && encoded.length <= MAX_NAME_LENGTH) return encoded;
  throw new WordloomError(
    "option-invalid",
    `a conversation's name has 1 to ${MAX_NAME_LENGTH} characters as a URL spells it; this one has ${encoded.length}`,
  );
}
