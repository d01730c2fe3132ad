/** Model files as a folder on disk, for tests that load by path; Node only. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Writes the files to a new folder, which is removed after the tests of the calling file. @returns its path */
export function modelFolder(files: ReadonlyMap<string, Uint8Array>): string {
  const folder = mkdtempSync(join(tmpdir(), "wordloom-test-"));
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
  folders.push(folder);
  return folder;
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});
