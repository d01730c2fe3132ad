/** What is kept of models on this device: list, sizes, delete. */
import { WordloomError } from "../errors";
import { browserPlace, messageOf, ModelStore, type StoredModel } from "../storage/model-store";
import { invalid } from "./option-checks";

export type { StoredModel };

/** How much room this site's storage has, all of it together. */
export interface StorageRoom {
  usedBytes: number | undefined;
  /** What the browser would allow, of which some may be used. */
  quotaBytes: number | undefined;
  /** Whether the browser has agreed not to tidy it away. */
  persisted: boolean;
}

/**
 * Models that `TextGenerator.load` has kept in this browser's storage for this site. Where there is no such storage (Node,
 * http pages, some private windows) the list is empty.
 */
export const modelStorage = {
  /** @throws WordloomError storage-failed */
  async list(): Promise<StoredModel[]> {
    return (await withStore((store) => store.list())) ?? [];
  },

  /**
   * @param model of `list`, or its id; one that is not there any more is no error
   * @throws WordloomError storage-failed, also while the model is being loaded
   */
  async delete(model: string | Pick<StoredModel, "id">): Promise<void> {
    const id = typeof model === "string" ? model : model.id;
    if (typeof id !== "string" || !/^[0-9a-f]{32}$/.test(id)) throw invalid("model", id, "the id of a stored model");
    await withStore((store) => store.delete(id));
  },

  /** @throws WordloomError storage-failed */
  async room(): Promise<StorageRoom> {
    const room = await withStore(async ({ place }) => {
      const { usage, quota } = await place.estimate();
      return { usedBytes: usage, quotaBytes: quota, persisted: await navigator.storage.persisted() };
    });
    return room ?? { usedBytes: undefined, quotaBytes: undefined, persisted: false };
  },
};

async function withStore<T>(act: (store: ModelStore) => Promise<T>): Promise<T | undefined> {
  const place = await browserPlace();
  if (typeof place === "string") return undefined;
  try {
    return await act(new ModelStore(place));
  } catch (error) {
    if (error instanceof WordloomError) throw error;
    throw new WordloomError("storage-failed", `this browser's storage failed: ${messageOf(error)}`, { cause: error });
  }
}
