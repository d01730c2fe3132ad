/** From what the caller names to files that are hashed, kept on this device, or both. */
import { KeptFiles, type LoadOutcome } from "./kept-files";
import type { ModelFiles, ModelIdentity } from "./model-files";
import { browserPlace, ModelStore, storageFailure, type KeptModel, type StorePlace } from "./model-store";
import { openSource, type OpenSourceOptions } from "./open-source";

/**
 * auto: files from other servers than the page's own are kept · on: those of the page's own, too · refresh: as on, and
 * the source is asked whether what is here is still its state · off: nothing is kept, and nothing kept is used.
 */
export type StoreMode = "auto" | "on" | "refresh" | "off";

export interface OpenModelOptions extends Omit<OpenSourceOptions, "recall"> {
  store: StoreMode;
  /** True: what is kept is used, and nothing is written. */
  readOnly?: boolean | undefined;
  /** By file name, in lower-case hexadecimal. */
  sha256: Readonly<Record<string, string>>;
  /** What came in place of a file, from its first bytes; that is never kept. */
  foreign: (firstBytes: Uint8Array) => string | undefined;
  /** Where to keep files; default: this browser's own. */
  place?: StorePlace | undefined;
}

export interface OpenedModel {
  files: ModelFiles;
  /**
   * To be called when loading has ended, however it did.
   *
   * @returns whether all files are kept here, and why or why not, in words
   * @throws WordloomError file-invalid if a hash is wrong after all; option-invalid if `sha256` names no file of it
   */
  settle(outcome: LoadOutcome): Promise<{ stored: boolean; reason: string }>;
}

/** @throws WordloomError as openSource; for the hub also what its listing gives */
export async function openModel(
  source: Parameters<typeof openSource>[0],
  options: OpenModelOptions,
): Promise<OpenedModel> {
  const { store: mode, signal, sha256, foreign, readOnly = false } = options;
  const place = mode === "off" ? "the option store is off" : (options.place ?? (await browserPlace()));
  const store = typeof place === "string" ? undefined : new ModelStore(place);
  const recall = store === undefined || mode === "refresh" ? undefined : (key: string) => recalled(store, key);
  const files = await openSource(source, { ...options, recall });
  const identity = await files.identity?.(signal);
  const opened = await openKept(identity, options, place, store);
  const model = typeof opened === "string" ? undefined : opened;
  const kept = new KeptFiles(files, { model, sha256, foreign, refresh: mode === "refresh", readOnly, signal });
  return {
    files: kept,
    settle: async (outcome) => {
      const stored = await kept.settle(outcome);
      if (!stored && model !== undefined) await store?.deleteIfEmpty(model.id);
      if (typeof opened === "string") return { stored: false, reason: `not kept: ${opened}` };
      if (!stored) return { stored, reason: `not kept: ${kept.notKept ?? "not all of it was read"}` };
      try {
        if (identity?.recall !== undefined) await store?.remember(identity.recall.key, identity.recall.value, opened);
      } catch (error) {
        return { stored, reason: `kept, but its commit could not be noted: ${storageFailure(error)}` };
      }
      return {
        stored,
        reason: kept.cameFromHere ? "read from this browser's storage" : "kept in this browser's storage",
      };
    },
  };
}

/** The model's folder in the store, or why there is none. */
async function openKept(
  identity: ModelIdentity | undefined,
  { store: mode, signal, readOnly = false }: Pick<OpenModelOptions, "store" | "signal" | "readOnly">,
  place: StorePlace | string,
  store: ModelStore | undefined,
): Promise<KeptModel | string> {
  if (identity === undefined) return "the files are on this device already";
  if (identity.ownServer && mode === "auto") return "the page's own server has the files";
  if (store === undefined) return typeof place === "string" ? place : "there is no store";
  try {
    return (await store.open(identity, { signal, create: !readOnly })) ?? "it is not here yet";
  } catch (error) {
    signal?.throwIfAborted();
    return storageFailure(error);
  }
}

/** What cannot be read is as good as not remembered. */
async function recalled(store: ModelStore, key: string): Promise<unknown> {
  try {
    return await store.recall(key);
  } catch {
    return undefined;
  }
}
