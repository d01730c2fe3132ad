/**
 * Data that is not ours to publish (other people's checkpoints, golden values of several megabytes) and therefore stays
 * outside this repository. Tests read it in place where it is present, and say loudly where it is not.
 *
 * Node only: imported by tests that run in Node, never by shipped code or browser tests.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** `WORDLOOM_SHARED_DATA` if set, else `../shared/data` beside the repository. */
const ROOT = resolve(REPOSITORY, process.env["WORDLOOM_SHARED_DATA"] ?? "../shared/data");

/** The absolute path of a file or folder of the shared data ("stories260k/golden.json"), or undefined if absent. */
export function sharedData(path: string): string | undefined {
  const absolute = join(ROOT, path);
  return existsSync(absolute) ? absolute : undefined;
}

/**
 * As `sharedData`, but where it is absent a warning names what is not being tested.
 * Use: `const folder = sharedDataOrWarn("stories260k", "66 tokenizer texts"); test.runIf(folder)(…)`.
 */
export function sharedDataOrWarn(path: string, whatIsNotTested: string): string | undefined {
  const found = sharedData(path);
  if (found === undefined) {
    console.warn(
      `\n*** NOT TESTED: ${whatIsNotTested}\n*** ${path} is absent (set WORDLOOM_SHARED_DATA to the folder that holds it).\n`,
    );
  }
  return found;
}
