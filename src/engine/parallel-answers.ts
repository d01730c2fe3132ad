/**
 * Several answers from one reading of the prompt: the loop of scheduler.ts with a row for each answer. Each ends by itself,
 * and the others go on; an abort ends all of them.
 */
import type { Backend, BeginRowsOptions, StepResult } from "../backends/backend";
import { slotsTaken } from "../backends/row-slots";
import { WordloomError } from "../errors";
import { prefillChunks } from "./prefix";
import { placeOf, type FinishReason } from "./stopping";

export interface RowsRequest extends BeginRowsOptions {
  /** From its turn on; undefined: as long as it takes. */
  maxTimeMs: number | undefined;
  reusePrefix: boolean;
}

export interface RowOutcome {
  finishReason: FinishReason;
  /** Tokens handed to `accept`: those of a stop string included, the end token not. */
  completionTokens: number;
}

/** Of all of them together, as of one (the scheduler's RunOutcome). */
export interface RowsOutcome {
  rows: readonly RowOutcome[];
  /** The first one's. */
  finishReason: FinishReason;
  cachedTokens: number;
  completionTokens: number;
  prefillMs: number;
  firstTokenMs: number;
  decodeMs: number;
  decodedTokens: number;
}

/** Who is told of the tokens. */
export interface RowsReader {
  /** As `accept` of the scheduler's `generate`. */
  accept(row: number, result: StepResult): number | undefined;
  /** Once for each answer, after its last token; not after an abort. */
  ended(row: number): void;
}

/** What this loop needs of the scheduler. */
export interface RowsLoop {
  backend: Backend;
  runAhead: number;
  prefillChunk: number;
  /** The promise's value, or the failure of the whole scheduler, whichever comes first. */
  settled: <T>(result: Promise<T>) => Promise<T>;
  /** Gives the thread's other tasks a turn now and then. */
  pause: () => Promise<void>;
}

interface Row {
  count: number;
  accepted: number;
  /** Tokens that steps gave, the end token included. */
  decoded: number;
  finishReason: FinishReason | undefined;
}

/**
 * @param contextLength positions of the cache
 * @returns the request with no more tokens than one answer alone could have
 * @throws WordloomError option-invalid where the answers have no room beside each other
 */
export function withRoom(request: RowsRequest, contextLength: number): RowsRequest {
  const { promptTokens, seeds } = request;
  const promptLength = promptTokens.length;
  const maxNewTokens = Math.min(request.maxNewTokens, contextLength + 1 - promptLength);
  const rows = seeds.length;
  const taken = slotsTaken({ promptLength, rows }, maxNewTokens);
  if (taken <= contextLength) return { ...request, maxNewTokens };
  const most = Math.floor((contextLength - promptLength) / rows) + 1;
  throw new WordloomError(
    "option-invalid",
    `n is ${rows}: a prompt of ${promptLength} tokens and ${rows} answers of ${maxNewTokens} take ${taken} positions; ` +
      `the context has ${contextLength}`,
    { remedy: `Set maxNewTokens to ${most} at most, or ask for fewer answers.` },
  );
}

/**
 * @param reused prompt tokens that the cache holds already
 * @returns how many of the prompt's positions are filled, too
 */
export async function parallelAnswers(
  loop: RowsLoop,
  request: RowsRequest,
  reused: number,
  reader: RowsReader,
  signal: AbortSignal,
  askedMs: number,
): Promise<RowsOutcome & { filled: number }> {
  const { backend, runAhead } = loop;
  const { endTokenIds } = request;
  const startMs = performance.now();
  const deadlineMs = startMs + (request.maxTimeMs ?? Infinity);
  await loop.settled(backend.beginRows(request));
  const rows = request.seeds.map((): Row => ({ count: 0, accepted: 0, decoded: 0, finishReason: undefined }));
  const isOver = () => rows.every(({ finishReason }) => finishReason !== undefined);
  const submissions = submit(backend, request, reused, loop.prefillChunk);
  const flight: Flight[] = [];
  let filled = reused;
  let firstTokenMs: number | undefined;
  let lastTokenMs: number | undefined;

  const take = (index: number, row: Row, result: StepResult) => {
    // Steps past an end repeat the last token.
    if (result.count <= row.count || row.finishReason || signal.aborted) return;
    if (result.invalid) {
      const message = `the logits of token ${result.count} of answer ${index} are not numbers`;
      throw new WordloomError("kernel-failed", message);
    }
    row.count = result.count;
    row.decoded++;
    lastTokenMs = performance.now();
    firstTokenMs ??= lastTokenMs;
    const place = placeOf(result, endTokenIds);
    if (place === "end") row.finishReason = "stop";
    else {
      row.accepted++;
      if (reader.accept(index, result) !== undefined) {
        row.finishReason = "stop";
        backend.endRow(index);
      } else if (place === "last") row.finishReason = "length";
    }
    if (row.finishReason) reader.ended(index);
  };

  try {
    for (;;) {
      while (!isOver() && !signal.aborted && flight.length <= runAhead) {
        const submitted = submissions.next();
        if (submitted.done) break;
        flight.push(submitted.value);
      }
      const oldest = flight.shift();
      if (!oldest) break;
      const results = await loop.settled(oldest.results);
      filled = Math.max(filled, oldest.filled);
      results.forEach((result, index) => take(index, rowAt(rows, index), result));
      if (!signal.aborted && performance.now() >= deadlineMs) {
        rows.forEach((row, index) => {
          if (row.finishReason) return;
          row.finishReason = "time";
          reader.ended(index);
        });
      }
      await loop.pause();
    }
  } catch (error) {
    // The next run may only begin when nothing is in flight; a scheduler that has failed has no next run.
    await loop.settled(Promise.allSettled(flight.map(({ results }) => results)));
    throw error;
  }
  const endMs = performance.now();
  const outcomes = rows.map(({ finishReason, accepted }): RowOutcome => ({
    finishReason: finishReason ?? (signal.aborted ? "abort" : "length"),
    completionTokens: accepted,
  }));
  return {
    finishReason: outcomes[0]?.finishReason ?? "length",
    rows: outcomes,
    filled,
    cachedTokens: reused,
    completionTokens: outcomes.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
    prefillMs: (firstTokenMs ?? endMs) - startMs,
    firstTokenMs: firstTokenMs === undefined ? 0 : firstTokenMs - askedMs,
    decodeMs: (lastTokenMs ?? endMs) - (firstTokenMs ?? endMs),
    decodedTokens: rows.reduce((sum, { decoded }) => sum + Math.max(0, decoded - 1), 0),
  };
}

function rowAt(rows: readonly Row[], index: number): Row {
  const row = rows[index];
  if (!row) throw new WordloomError("internal", `a result for answer ${index} of ${rows.length}`);
  return row;
}

/** A submitted chunk or step: a token for each answer or none, and how many prompt positions are then filled. */
interface Flight {
  results: Promise<readonly StepResult[]>;
  filled: number;
}

/** The prompt's chunks, then as many steps as may give a token. */
function* submit(
  backend: Backend,
  { promptTokens, maxNewTokens }: RowsRequest,
  start: number,
  chunkSize: number,
): Generator<Flight, void> {
  const { length } = promptTokens;
  for (const chunk of prefillChunks(start, length, chunkSize)) {
    const tokens = promptTokens.subarray(chunk.start, chunk.end);
    const results =
      chunk.end === length
        ? backend.prefillRows(tokens, chunk.start)
        : backend.prefill(tokens, chunk.start, false).then(() => []);
    yield inFlight(results, chunk.end);
  }
  for (let given = 1; given < maxNewTokens; given++) yield inFlight(backend.stepRows(), length);
}

function inFlight(results: Promise<readonly StepResult[]>, filled: number): Flight {
  results.catch(() => {}); // it is awaited later, in its turn; until then its failure is not unhandled
  return { results, filled };
}
