/** Wordloom's own modules that are fetched when they are needed. */
import { WordloomError } from "../errors";

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
