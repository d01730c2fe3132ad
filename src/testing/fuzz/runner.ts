/**
 * Runs a parser on many inputs and asks three things of each: it ends within a second, with a value or with a
 * WordloomError, and takes at most 100 MiB.
 */
import { getHeapStatistics } from "node:v8";
import vm from "node:vm";
import fc from "fast-check";
import { WordloomError } from "../../errors";
import type { Input } from "./edits";

export interface FuzzTarget {
  /** Also the corpus file's name. */
  name: string;
  inputs: fc.Arbitrary<Input>;
  /** Reads one input as the program would; waits for nothing. */
  read(input: Input): void;
}

export const MAX_MS = 1000;
export const MAX_BYTES = 100 * 2 ** 20;
/** Inputs made and read at a time; a part that hangs is stopped, and its input known. */
const BATCH = 500;
const MAX_BATCH_MS = 120_000;

/** What an input did that no input may do; undefined: nothing. */
export function faultOf(target: FuzzTarget, input: Input): string | undefined {
  const before = heldBytes();
  const { ms, error } = timed(target, input);
  const taken = heldBytes() - before;
  if (error !== undefined && !(error instanceof WordloomError)) return `untyped: ${errorText(error)}`;
  if (error instanceof WordloomError && error.code === "internal") return `internal: ${error.message}`;
  if (ms > MAX_MS && quickest(target, input) > MAX_MS) return `slow: ${Math.round(ms)} ms`;
  return taken > MAX_BYTES ? `large: ${Math.round(taken / 2 ** 20)} MiB` : undefined;
}

/** Of three more tries the shortest: the first may have waited for the compiler, or for memory to be cleared. */
function quickest(target: FuzzTarget, input: Input): number {
  return Math.min(...Array.from({ length: 3 }, () => timed(target, input).ms));
}

/** In processor time, as other programs may have had the processor; it never says more than the clock. */
function timed(target: FuzzTarget, input: Input): { ms: number; error: unknown } {
  const start = performance.now();
  const before = process.cpuUsage();
  let error: unknown;
  try {
    target.read(input);
  } catch (thrown) {
    error = thrown;
  }
  const wall = performance.now() - start;
  if (wall <= MAX_MS) return { ms: wall, error };
  const { user, system } = process.cpuUsage(before);
  return { ms: Math.min(wall, (user + system) / 1000), error };
}

/** On the heap and beside it (ArrayBuffers), garbage included. */
function heldBytes(): number {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}

function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = /\(?([^\s(]*src\/[^)\n]*)/.exec(error.stack ?? "")?.[1] ?? "";
  return `${error.name}: ${error.message.slice(0, 120)} at ${place.replace(/^.*\/src\//, "src/")}`;
}

export interface Fault {
  fault: string;
  input: Input;
}

/**
 * @param count of inputs; the same `seed` gives the same ones
 * @returns the first input of each kind of fault, cut to what the fault needs; at most 20
 */
export function fuzz(target: FuzzTarget, count: number, seed: number): Fault[] {
  const faults = new Map<string, Fault>();
  for (let done = 0; done < count && faults.size < 20; done += BATCH) {
    const inputs = fc.sample(target.inputs, { numRuns: Math.min(BATCH, count - done), seed: seed + done });
    let current: Input | undefined;
    const batch = (): void => {
      for (const input of inputs) {
        current = input;
        const fault = faultOf(target, input);
        if (fault !== undefined && !faults.has(kindOf(fault))) faults.set(kindOf(fault), { fault, input });
      }
    };
    try {
      withinTime(batch, MAX_BATCH_MS);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT" || current === undefined) throw error;
      faults.set("hang", { fault: `hang: stopped after ${MAX_BATCH_MS} ms`, input: current });
    }
  }
  return [...faults.values()].map((fault) => smallest(target, fault));
}

/** Without the numbers, which differ from input to input. */
function kindOf(fault: string): string {
  return fault.startsWith("untyped") ? (fault.split(" at ").at(-1) ?? fault) : (fault.split(":")[0] ?? fault);
}

/** Removes what is not needed for the fault, piece by piece. */
function smallest(target: FuzzTarget, { fault, input }: Fault): Fault {
  if (fault.startsWith("hang") || fault.startsWith("slow")) return { fault, input };
  let least = input;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < least.length;) {
      const shorter = Uint8Array.from([...least.subarray(0, at), ...least.subarray(at + size)]);
      const same = faultOf(target, shorter);
      if (same !== undefined && kindOf(same) === kindOf(fault)) least = shorter;
      else at += size;
    }
  }
  return { fault: faultOf(target, least) ?? fault, input: least };
}

/** V8 stops even an endless loop, or an expression that goes back and forth without end. */
function withinTime(work: () => void, ms: number): void {
  const holder = globalThis as { wordloomFuzzWork?: () => void };
  holder.wordloomFuzzWork = work;
  try {
    vm.runInThisContext("wordloomFuzzWork()", { timeout: ms });
  } finally {
    delete holder.wordloomFuzzWork;
  }
}
