/** Wordloom's own modules that are fetched when they are needed. */
import { WordloomError } from "./errors";

/**
 * @param loading what `import()` gave
 * @throws WordloomError network-failed where the module could not be fetched, which browsers tell as a TypeError
 */
export async function ownModule<T>(loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (cause) {
    // "Failed to fetch dynamically imported module", "error loading dynamically …", "Importing a module script failed."
    if (!(cause instanceof TypeError) || !/import/i.test(cause.message)) throw cause;
    throw new WordloomError("network-failed", `a part of Wordloom itself could not be fetched (${cause.message})`, {
      remedy: "Check the connection, then load again.",
      cause,
    });
  }
}

/**
 * What is made when it is first asked for, and then kept. Where that fails whoever asked is told, and the next try is a new
 * one: a module's server may be reached by then, or a buffer have room.
 */
export function onDemand<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    if (made === undefined) {
      made = make();
      made.catch(() => (made = undefined));
    }
    return made;
  };
}
