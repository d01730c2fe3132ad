/** Failures as the web has them: DOMExceptions by name, and what a signal was aborted with. */
import { WordloomError, type WordloomErrorCode } from "../../errors";

export const notSupported = (message: string) => new DOMException(message, "NotSupportedError");

/** As the web's QuotaExceededError, which is a class of its own in newer browsers. */
export interface QuotaExceeded extends DOMException {
  /** Tokens that were wanted, and that there is room for. */
  readonly requested: number;
  readonly quota: number;
}

type QuotaConstructor = new (message: string, options: { requested: number; quota: number }) => QuotaExceeded;

export function quotaExceeded(requested: number, quota: number): QuotaExceeded {
  const message = `the prompt takes ${requested} tokens; the context window has room for ${quota}`;
  const Own = (globalThis as { QuotaExceededError?: QuotaConstructor }).QuotaExceededError;
  if (Own) return new Own(message, { requested, quota });
  return Object.assign(new DOMException(message, "QuotaExceededError"), { requested, quota });
}

const NAMES: Partial<Record<WordloomErrorCode, string>> = {
  "template-missing": "NotSupportedError",
  "template-failed": "NotSupportedError",
  "tools-unsupported": "NotSupportedError",
  "model-unsupported": "NotSupportedError",
  "config-unsupported": "NotSupportedError",
  "tokenizer-unsupported": "NotSupportedError",
  "webgpu-unavailable": "NotSupportedError",
  "wasm-refused": "NotSupportedError",
  "device-limit": "NotSupportedError",
  "network-failed": "NetworkError",
  "cors-refused": "NetworkError",
  "server-failed": "NetworkError",
  "rate-limited": "NetworkError",
  "model-not-found": "NetworkError",
  "access-denied": "NetworkError",
  disposed: "InvalidStateError",
};

/** @param otherwise the name for what the web has none for: "OperationError" while creating, "UnknownError" after */
export function domFailure(error: unknown, otherwise: string): unknown {
  if (error instanceof DOMException || error instanceof TypeError || error instanceof RangeError) return error;
  const { code, message, remedy } = WordloomError.from(error);
  return new DOMException(`${message}. ${remedy}`, NAMES[code] ?? otherwise);
}

/** What is wrong with a constraint is that it is not supported. */
export function constraintFailure(error: unknown): unknown {
  const isRefused = error instanceof WordloomError && error.code === "option-invalid";
  return isRefused ? notSupported(`responseConstraint: ${error.message}`) : error;
}

/** Rejects with the signal's reason as soon as it is aborted. What was promised goes on by itself. */
export function unlessAborted<T>(promised: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error); // whatever it was aborted with
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promised.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
