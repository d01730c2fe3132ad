// CPU time of this process and all its descendants, and of the whole machine (Linux /proc). Wall times on a
// shared machine depend on the neighbours; CPU time per token and the neighbours' share make that visible.
import fs from "node:fs";

const HZ = 100;
function stat(pid) {
  try {
    const s = fs.readFileSync(`/proc/${pid}/stat`, "utf8"),
      f = s.slice(s.lastIndexOf(")") + 2).split(" ");
    return { ppid: +f[1], cpu: (+f[11] + +f[12]) / HZ };
  } catch {
    return null;
  }
}

export function usage(rootPid = process.pid) {
  const all = new Map();
  for (const d of fs.readdirSync("/proc"))
    if (/^\d+$/.test(d)) {
      const s = stat(d);
      if (s) all.set(+d, s);
    }
  let own = 0;
  for (const [pid, s] of all) {
    let p = pid;
    for (let hops = 0; p > 1 && p !== rootPid && hops < 64; hops++) p = all.get(p)?.ppid ?? 0;
    if (p === rootPid) own += s.cpu;
  }
  const f = fs.readFileSync("/proc/stat", "utf8").split("\n")[0].trim().split(/\s+/).slice(1).map(Number);
  return { own, busy: (f[0] + f[1] + f[2] + f[5] + f[6]) / HZ, t: performance.now() / 1000 };
}

const sleep = (ms) => new Promise((ok) => setTimeout(ok, ms));

// Resolves once the machine has been mostly idle for 2 s, or after maxSeconds. Returns the seconds waited.
export async function waitQuiet(maxBusyCores, maxSeconds) {
  const start = performance.now();
  for (;;) {
    const a = usage();
    await sleep(2000);
    const b = usage(),
      waited = (performance.now() - start) / 1000;
    if ((b.busy - a.busy) / (b.t - a.t) <= maxBusyCores || waited >= maxSeconds) return waited;
  }
}
