/** The package as npm would publish it, and the examples as they stand in a project that has installed it. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const root = process.cwd(); // Playwright's: the repository
/** Below the repository, so that packages other than wordloom are found in its node_modules. */
export const projectFolder = join(root, ".cache", "package");

interface Packed {
  tarball: string;
  /** Paths within the package. */
  files: string[];
}

let packed: Promise<Packed> | undefined;

/** Packs `dist-lib`, and installs that in `.cache/package`. Once for all tests. */
export const installPacked = (): Promise<Packed> => (packed ??= pack());

async function pack(): Promise<Packed> {
  rmSync(projectFolder, { recursive: true, force: true });
  const installed = join(projectFolder, "node_modules", "wordloom");
  mkdirSync(installed, { recursive: true });
  const [npm, options] = process.platform === "win32" ? ["npm.cmd", { shell: true }] : ["npm", {}];
  const { stdout } = await promisify(execFile)(
    npm,
    ["pack", "--json", "--ignore-scripts", "--pack-destination", projectFolder],
    {
      cwd: root,
      ...options,
    },
  );
  const [{ filename, files }] = Object.values(
    JSON.parse(stdout) as { filename: string; files: { path: string }[] }[],
  ) as [{ filename: string; files: { path: string }[] }];
  const tarball = join(projectFolder, filename);
  await promisify(execFile)("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
  return { tarball, files: files.map(({ path }) => path) };
}

/** @returns what it wrote. Rejects, with all that, where it ends by an error. */
export async function runInNode(script: string, scriptArguments: string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  const all = [script, ...scriptArguments];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, all, { cwd, env: { ...process.env, ...env } });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`node ${all.join(" ")} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

/** A file of a package that the repository has installed. */
export const installedFile = (path: string): string => join(root, "node_modules", path);

/**
 * An example's own copy, beside the installed package and the bundled model.
 *
 * @returns its folder
 */
export async function copyExample(name: string): Promise<string> {
  await installPacked();
  for (const path of ["public/models/wordloom-stories", "public/favicon.svg"])
    cpSync(join(root, path), join(projectFolder, path), { recursive: true });
  const folder = join(projectFolder, "examples", name);
  cpSync(join(root, "examples", name), folder, {
    recursive: true,
    filter: (path) => !/[\\/](node_modules|dist)$/.test(path),
  });
  return folder;
}

/**
 * What `npm run build` does in an example.
 *
 * @returns the folder of the built site
 */
export async function buildExample(name: string, { types = false } = {}): Promise<string> {
  const folder = await copyExample(name);
  if (types) await runInNode(installedFile("typescript/bin/tsc"), [], folder);
  await runInNode(installedFile("vite/bin/vite.js"), ["build", "--logLevel", "warn"], folder);
  return join(folder, "dist");
}
