// `npm run test:lavapipe`: GPU tests in Node, on Mesa's software driver, which has what SwiftShader lacks (shader-f16).
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./run.mjs";

const HOW = `Set VK_ICD_FILENAMES to the lavapipe driver of Mesa 25 or newer (22.x lacks what Dawn needs), then run this again:
  Debian 13, Ubuntu 25.04 and newer:  apt-get install mesa-vulkan-drivers
  Debian 12:                          the same package from bookworm-backports
  VK_ICD_FILENAMES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json npm run test:lavapipe`;

const drivers = process.env.VK_ICD_FILENAMES;
const missing = drivers?.split(delimiter).filter((file) => !existsSync(file)) ?? [];
if (!drivers || missing.length > 0) {
  if (missing.length > 0) console.error(`VK_ICD_FILENAMES names ${missing.join(", ")}, which does not exist.`);
  console.error(HOW);
  process.exit(1);
}
const root = fileURLToPath(new URL("..", import.meta.url));
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const { code } = await run(process.execPath, [vitest, "run", "--project", "lavapipe", ...process.argv.slice(2)], {
  cwd: root,
  env: {
    // The Vulkan loader wants a folder of its own for sockets it will not use.
    XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR ?? mkdtempSync(join(tmpdir(), "wordloom-runtime-")),
    // Kernels are compiled far longer than they run here: LLVM's optimizer takes most of the time.
    GALLIVM_PERF: process.env.GALLIVM_PERF ?? "nopt",
  },
});
process.exitCode = code ?? 1;
