/**
 * Texts and chats in this browser: IndexedDB "wordloom-texts", one record each, and in localStorage "wordloom.keep" whether
 * any are to be kept. They leave the browser only when the reader shares or saves them.
 */
import { WordloomError } from "../../../errors";
import { titleOf, type PageDocument } from "./document";

export type KeptDocument = PageDocument & { title: string; updatedAt: Date };

const DATABASE = "wordloom-texts";
const STORE = "texts";
const CHOICE = "wordloom.keep";

/** Unless the reader has said no. */
export function keepsDocuments(): boolean {
  try {
    return localStorage.getItem(CHOICE) !== "no";
  } catch {
    return false; // a page that may store nothing
  }
}

/** @throws WordloomError storage-failed */
export function setKeeping(keeps: boolean): void {
  try {
    if (keeps) localStorage.removeItem(CHOICE);
    else localStorage.setItem(CHOICE, "no");
  } catch (cause) {
    throw failed(cause);
  }
}

/** In place of the record with its id. @throws WordloomError storage-failed, where the browser has no room for it, say */
export async function keepDocument(document: PageDocument): Promise<void> {
  const record: KeptDocument = { ...document, title: titleOf(document), updatedAt: new Date() };
  await inStore("readwrite", (store) => store.put(record));
}

/** Last changed first. @throws WordloomError storage-failed */
export async function keptDocuments(): Promise<KeptDocument[]> {
  const records = await inStore("readonly", (store) => store.getAll() as IDBRequest<KeptDocument[]>); // all are put above
  return records.sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime());
}

/** @throws WordloomError storage-failed */
export async function deleteDocument(id: string): Promise<void> {
  await inStore("readwrite", (store) => store.delete(id));
}

/** @throws WordloomError storage-failed */
export async function deleteAllDocuments(): Promise<void> {
  await inStore("readwrite", (store) => store.clear());
}

async function inStore<Result>(
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  try {
    const database = await opened();
    try {
      return await new Promise((resolve, reject) => {
        const transaction = database.transaction(STORE, mode);
        const request = act(transaction.objectStore(STORE));
        transaction.oncomplete = () => resolve(request.result);
        transaction.onabort = () => reject(transaction.error ?? new Error("the browser gave no reason"));
      });
    } finally {
      database.close(); // held open, it would keep another tab from a newer version
    }
  } catch (cause) {
    throw failed(cause);
  }
}

function opened(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser gave no reason"));
  });
}

function failed(cause: unknown): WordloomError {
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new WordloomError("storage-failed", `this browser's storage failed: ${reason}`, { cause });
}
