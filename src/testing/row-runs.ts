/** Several answers on a backend beside each of them alone. */
import { expect } from "vitest";
import type { Backend, BeginOptions, SamplingSettings, StepResult } from "../backends/backend";
import { samplingSettings } from "./sampling-settings";

export interface RowRun {
  prompt: Uint32Array;
  seeds: readonly SamplingSettings["seed"][];
  maxNewTokens: number;
  endTokenIds?: readonly number[];
  sampling?: Partial<SamplingSettings>;
}

const beginOf = ({ prompt, maxNewTokens, endTokenIds = [], sampling }: RowRun): BeginOptions => ({
  sampling: samplingSettings({ temperature: 1, ...sampling }),
  promptTokens: prompt,
  endTokenIds,
  maxNewTokens,
});

/** All of its tokens, those of several steps in flight at once. */
export async function aloneWith(backend: Backend, run: RowRun, seed: SamplingSettings["seed"]): Promise<StepResult[]> {
  const options = beginOf(run);
  await backend.begin({ ...options, sampling: { ...options.sampling, seed } });
  const { prompt, maxNewTokens } = run;
  if (prompt.length > 2) await backend.prefill(prompt.subarray(0, 2), 0, false);
  const rest = prompt.length > 2 ? 2 : 0;
  const first = backend.prefill(prompt.subarray(rest), rest, true);
  const later: StepResult[] = [await first];
  for (let at = 1; at < maxNewTokens; at++) later.push(await backend.step());
  return later.filter(({ count }, at) => count === at + 1);
}

/** The tokens of each row. */
export async function together(backend: Backend, run: RowRun, endRow?: { row: number; after: number }) {
  const { prompt, seeds, maxNewTokens } = run;
  await backend.beginRows({ ...beginOf(run), seeds });
  if (prompt.length > 2) await backend.prefill(prompt.subarray(0, 2), 0, false);
  const rest = prompt.length > 2 ? 2 : 0;
  const steps = [await backend.prefillRows(prompt.subarray(rest), rest)];
  for (let at = 1; at < maxNewTokens; at++) {
    if (endRow?.after === at) backend.endRow(endRow.row);
    steps.push(await backend.stepRows());
  }
  return seeds.map((_, row) =>
    steps.flatMap((step, at) => {
      const result = step[row];
      return result?.count === at + 1 ? [result] : [];
    }),
  );
}

const idsOf = (results: readonly StepResult[]) => results.map(({ id }) => id);

/** Ids exactly; what the model says of them, and of others, within what another order of sums changes. */
export async function expectRowsAsAlone(backend: Backend, run: RowRun): Promise<StepResult[][]> {
  const rows = await together(backend, run);
  for (const [row, seed] of run.seeds.entries()) {
    const [own, alone] = [rows[row] ?? [], await aloneWith(backend, run, seed)];
    expect(idsOf(own), `answer ${row}`).toEqual(idsOf(alone));
    own.forEach((result, at) => {
      const other = alone[at];
      expect(result.logprob).toBeCloseTo(other?.logprob ?? NaN, 4);
      expect(result.done).toBe(other?.done);
      expect(result.top.map(({ id }) => id)).toEqual(other?.top.map(({ id }) => id));
      expect(result.statistics?.rank).toBe(other?.statistics?.rank);
    });
  }
  return rows;
}
