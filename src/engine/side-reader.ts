/** Reads what lies beside the weights of quantized matrices: scales, zero points, orders. */
import { WordloomError } from "../errors";
import { readBytes } from "../formats/read-json";
import type { ModelFile } from "../storage/model-files";
import type { PackedPlace, PlannedFile } from "./checkpoint-plan";

/** Bytes between two side tensors that cost less to read than a further request. */
const GAP_BYTES = 64 * 1024;
/** Of side tensors read at once; a larger one goes alone. */
const RUN_BYTES = 4 * 2 ** 20;

/** Neighbouring side tensors, read together when the first of them is wanted, and held until the last one was. */
interface Run {
  file: ModelFile;
  start: number;
  end: number;
  wanted: number;
  bytes?: Uint8Array;
}

/**
 * Side tensors may lie anywhere: files are sorted by the size of their
 * elements (safetensors' own order), by name, or not at all (MLX). What is held at a time is a run for each place where
 * they are read from, and never more than all of them.
 */
export class SideReader {
  /** By the name of the tensor. */
  readonly #runs = new Map<string, Run>();

  /** @param onPassed how far a file has come whose sides lie behind what is still to be fetched of it */
  constructor(
    plan: readonly PlannedFile[],
    private readonly onPassed: (file: ModelFile, position: number) => void,
  ) {
    const packed = plan.flatMap(({ tensors }) => tensors).flatMap((tensor) => tensor.packed ?? []);
    const sides = packed.flatMap(({ sides }) => sides);
    for (const { file } of plan) {
      const own = sides.filter((side) => side.file === file).sort((a, b) => a.source.start - b.source.start);
      let run: Run | undefined;
      for (const { source } of own) {
        const { start, end } = source;
        const joins = run !== undefined && start - run.end <= GAP_BYTES && end - run.start <= RUN_BYTES;
        if (run === undefined || !joins) run = { file, start, end, wanted: 0 };
        run.end = Math.max(run.end, end);
        run.wanted += 1;
        this.#runs.set(source.name, run);
      }
    }
  }

  /** So that nothing but the file's stream is to be waited for when the matrix comes. */
  async fetch({ sides }: PackedPlace, signal: AbortSignal | undefined): Promise<void> {
    for (const { source } of sides) await this.#bytesOf(source.name, signal);
  }

  /** The bytes of each of the matrix's side tensors; once. */
  async take({ sides }: PackedPlace, signal: AbortSignal | undefined): Promise<Uint8Array[]> {
    const taken: Uint8Array[] = [];
    for (const { source } of sides) {
      const { run, bytes } = await this.#bytesOf(source.name, signal);
      taken.push(bytes.subarray(source.start - run.start, source.end - run.start));
      run.wanted -= 1;
      if (run.wanted === 0) delete run.bytes;
    }
    return taken;
  }

  async #bytesOf(name: string, signal: AbortSignal | undefined): Promise<{ run: Run; bytes: Uint8Array }> {
    const run = this.#runs.get(name);
    if (run === undefined) throw new WordloomError("internal", `${name} is not among the planned tensors`);
    if (run.bytes === undefined) {
      const { file, start, end } = run;
      const onPassed = (position: number) => this.onPassed(file, position);
      const bytes = await readBytes(file, { start, end, maxBytes: end - start, signal, onPassed });
      if (bytes.length < end - start) {
        const message = `${file.name} ends at byte ${start + bytes.length}; its header describes data up to ${end}`;
        throw new WordloomError("file-invalid", message);
      }
      run.bytes = bytes;
    }
    return { run, bytes: run.bytes };
  }
}
