/** The files of what `load` or `plan` was asked for, hashed and kept as the options say. */
import { WordloomError, type WordloomErrorCode } from "../errors";
import { foreignContent } from "../formats/foreign-content";
import type { LoadOutcome } from "../storage/kept-files";
import { openModel, type OpenedModel, type StoreMode } from "../storage/open-model";

/** What the source's files depend on; can be posted to a worker. */
export interface SourceRequest {
  source: Parameters<typeof openModel>[0];
  headers: Readonly<Record<string, string>>;
  store: StoreMode;
  /** By file name, in lower-case hexadecimal. */
  sha256: Readonly<Record<string, string>>;
  /** Of the hub, for an "hf:" source. */
  endpoint: string | undefined;
  token: string | undefined;
}

/** @param readOnly what is kept is used, and nothing is written */
export function openRequest(
  { source, headers, store, sha256, endpoint, token }: SourceRequest,
  { signal, fetch }: { signal: AbortSignal; fetch?: typeof globalThis.fetch | undefined },
  readOnly: boolean,
): Promise<OpenedModel> {
  return openModel(source, {
    headers,
    store,
    sha256,
    endpoint,
    token,
    signal,
    fetch,
    readOnly,
    foreign: foreignContent,
  });
}

/** The files themselves are at fault: kept, they would be at fault at each visit. */
const BROKEN: ReadonlySet<WordloomErrorCode> = new Set([
  "model-not-found",
  "model-unsupported",
  "config-invalid",
  "config-unsupported",
  "file-invalid",
  "tensor-missing",
  "tensor-mismatch",
  "tokenizer-unsupported",
]);

export function outcomeOf(error: unknown): LoadOutcome {
  return error instanceof WordloomError && BROKEN.has(error.code) ? "broken" : "stopped";
}
