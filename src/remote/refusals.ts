/** Why a server refuses a request, from the status and from what it says. */
import { WordloomError } from "../errors";
import { retryAfter } from "../storage/http-answers";
import { Transient } from "../storage/retries";
import { isRecord } from "./json-values";

/** Of a body, so that a large one is not read whole for its reason. */
const MAX_REASON_BYTES = 64 * 1024;
const MAX_REASON_UNITS = 400;

/** The request may be let in later: nothing has been written, and the server has not begun. */
const PASSING: ReadonlySet<number> = new Set([425, 429, 503]);

/** What a body of OpenAI's shape, or of a relative of it, says of a failure. */
export interface StatedFailure {
  /** "" where none is told. */
  message: string;
  /** As a status, where the body states one. */
  status: number | undefined;
  tooLong: boolean;
}

/** The failure that a JSON value tells; undefined where it tells none. */
export function statedFailure(value: unknown): StatedFailure | undefined {
  if (!isRecord(value)) return undefined;
  // OpenAI, llama.cpp, vLLM: { error: { message } }; vLLM before 0.10: { object: "error", message }; Ollama: { error: "…" }
  const error = value["error"] ?? (value["object"] === "error" ? value : undefined);
  if (typeof error === "string") return { message: short(error), status: undefined, tooLong: saysTooLong(error) };
  if (!isRecord(error)) return undefined;
  const { message, code, type } = error;
  const text = typeof message === "string" ? message : "";
  const status = typeof code === "number" && code >= 400 && code < 600 ? code : undefined;
  const tooLong = code === "context_length_exceeded" || type === "exceed_context_size_error" || saysTooLong(text);
  return { message: short(text), status, tooLong };
}

/**
 * Reads why an answer is no success.
 *
 * @returns a Transient where the same request may be let in later
 */
export async function refusalOf(url: string, response: Response): Promise<WordloomError | Transient> {
  const failure = failureIn(await beginningOf(response));
  const waitMs = retryAfter(response);
  const status = `${response.status} ${response.statusText}`.trim();
  const error = statusError(url, response.status, `status ${status}`, failure, waitMs);
  return PASSING.has(response.status) ? new Transient(error, waitMs) : error;
}

/** A failure that the server tells within an answer that began well. */
export function failureInStream(url: string, failure: StatedFailure): WordloomError {
  const { status = 500 } = failure;
  return statusError(url, status, failure.status === undefined ? "an error" : `error ${status}`, failure, undefined);
}

function statusError(
  url: string,
  code: number,
  status: string,
  { message, tooLong }: StatedFailure,
  waitMs: number | undefined,
): WordloomError {
  const said = `${url} answered with ${status}${message === "" ? "" : `: ${message}`}`;
  if (tooLong || code === 413) return new WordloomError("prompt-too-long", said, { remedy: "Shorten the prompt." });
  if (code === 401 || code === 402 || code === 403) {
    return new WordloomError("access-denied", said, {
      remedy: "Pass an apiKey, or headers, that may use this server.",
    });
  }
  if (code === 404 || code === 410) {
    const remedy = "Check the address (it mostly ends with /v1) and the model's name.";
    return new WordloomError("model-not-found", said, { remedy });
  }
  if (code === 400 || code === 422)
    return new WordloomError("option-invalid", said, { remedy: "Change what it names." });
  if (code === 429) {
    const wait = waitMs === undefined ? "" : `; it asks to wait ${Math.ceil(waitMs / 1000)} s`;
    return new WordloomError("rate-limited", said + wait, { remedy: "Wait a while, then ask again." });
  }
  if (code >= 500 || code === 408 || code === 425) {
    return new WordloomError("server-failed", said, { remedy: "The fault is the server's: ask again later." });
  }
  const remedy = "Check the address: the server does not answer to it as to an API of OpenAI's shape.";
  return new WordloomError("network-failed", said, { remedy });
}

function failureIn(body: string): StatedFailure {
  const nothing = { message: "", status: undefined, tooLong: false };
  try {
    const value: unknown = JSON.parse(body);
    const detail = isRecord(value) && typeof value["detail"] === "string" ? value["detail"] : undefined; // FastAPI's
    return statedFailure(value) ?? { ...nothing, message: short(detail ?? "") };
  } catch {
    // No JSON: plain words are worth telling, a web page is not.
    return { ...nothing, message: /^\s*</.test(body) ? "" : short(body) };
  }
}

async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let bytes = 0; bytes < MAX_REASON_BYTES;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      text += decoder.decode(value, { stream: true });
    }
    await reader.cancel();
  } catch {
    return text; // the status alone says enough
  }
  return text;
}

function saysTooLong(message: string): boolean {
  return /maximum context length|exceeds? the (?:available )?context|context (?:size|length) exceeded/i.test(message);
}

function short(message: string): string {
  const line = message.replace(/\s+/g, " ").trim();
  return line.length > MAX_REASON_UNITS ? `${line.slice(0, MAX_REASON_UNITS)}…` : line;
}
