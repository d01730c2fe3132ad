/**
 * Asks the browser to keep this site's storage when it tidies up. On pages only; Firefox asks the person, so it is asked
 * when a model has been kept, not before.
 */
export async function askToPersist(): Promise<boolean> {
  const { storage } = (globalThis as { navigator?: Partial<Navigator> }).navigator ?? {}; // there is none in old Node
  if (storage === undefined || typeof storage.persist !== "function") return false;
  try {
    return (await storage.persisted()) || (await storage.persist());
  } catch {
    return false; // a frame of another site may not ask; what is kept stays as long as the browser likes
  }
}
