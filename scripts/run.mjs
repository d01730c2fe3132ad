// Runs one command with this terminal's input and output.
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/**
 * @param {string} command
 * @param {string[]} commandArguments
 * @param {{ cwd?: string, env?: Record<string, string | undefined>, timeoutMs?: number, log?: string }} [options]
 *   timeoutMs: the command and what it started are ended after so long; code is then null. log: a file that takes the
 *   output in the terminal's place
 * @returns {Promise<{ code: number | null }>}
 */
export function run(command, commandArguments, { cwd, env, timeoutMs, log } = {}) {
  return new Promise((resolve, reject) => {
    const ownGroup = timeoutMs !== undefined && process.platform !== "win32";
    const output = log === undefined ? undefined : openSync(log, "w");
    const child = spawn(command, commandArguments, {
      cwd,
      env: { ...process.env, ...env },
      stdio: output === undefined ? "inherit" : ["ignore", output, output],
      detached: ownGroup,
      shell: process.platform === "win32" && command === "npm", // there npm is a .cmd file
    });
    if (output !== undefined) closeSync(output); // the child has its own
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => (ownGroup ? process.kill(-child.pid, "SIGKILL") : child.kill("SIGKILL")), timeoutMs);
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code });
    });
  });
}
