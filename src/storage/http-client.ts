/** One request to a server, and the failures of it told apart. */
import { WordloomError } from "../errors";
import { RETRY_POLICY, Retries, Transient, type RetryPolicy } from "./retries";
import { refusal } from "./http-answers";

export interface HttpOptions {
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
  headers?: HeadersInit | undefined;
  /** How often and when a request is repeated; default: RETRY_POLICY. */
  retries?: RetryPolicy | undefined;
}

export interface HttpRequest {
  method?: "GET" | "HEAD" | "POST";
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /** Of a POST. */
  body?: string;
  /** Default: a redirection is followed, as `fetch` does it. */
  redirect?: RequestRedirect;
}

export class HttpClient {
  /** Whether this server has ever answered: then a failure is one of the connection. */
  #answered = false;
  /** Whether one of its answers was a success: then there is something to be patient for. */
  #succeeded = false;

  constructor(private readonly options: HttpOptions) {}

  /** For one download, or one request. */
  retries(): Retries {
    const retries = new Retries(this.options.retries ?? RETRY_POLICY);
    if (this.#succeeded) retries.answered();
    return retries;
  }

  /**
   * Any answer of the server, of whatever status.
   *
   * @throws Transient network-failed; WordloomError cors-refused; `signal.reason` if it aborts
   */
  async fetch(url: string, { method = "GET", headers = {}, signal, ...rest }: HttpRequest): Promise<Response> {
    signal?.throwIfAborted();
    const all = new Headers(this.options.headers);
    for (const [key, value] of Object.entries(headers)) all.set(key, value);
    try {
      const response = await this.#send(url, {
        method,
        headers: all,
        ...rest,
        ...(signal === undefined ? {} : { signal }),
      });
      this.#answered = true;
      this.#succeeded ||= response.ok;
      return response;
    } catch (cause) {
      signal?.throwIfAborted();
      if (!this.#answered && (await this.#isThere(url, signal))) {
        const message = `${url} is there, but may not be read from ${location.origin} (CORS)`;
        throw new WordloomError("cors-refused", message, { cause });
      }
      throw new Transient(noAnswer(url, "did not answer", cause));
    }
  }

  /**
   * The answer once it is a success, or one of `accepted`; what may pass is tried again.
   *
   * @throws WordloomError by status; `signal.reason` if it aborts
   */
  async request(url: string, request: HttpRequest, accepted: readonly number[] = []): Promise<Response> {
    const retries = this.retries();
    for (;;) {
      try {
        const response = await this.fetch(url, request);
        if (response.ok || accepted.includes(response.status)) return response;
        await response.body?.cancel();
        throw refusal(url, response);
      } catch (failure) {
        await retries.next(failure, request.signal);
      }
    }
  }

  /** A browser does not tell a page whether a failure was the network's or CORS; an answer nobody may read tells. */
  async #isThere(url: string, signal: AbortSignal | undefined): Promise<boolean> {
    if (typeof location === "undefined" || new URL(url).origin === location.origin) return false;
    try {
      const init: RequestInit = { method: "HEAD", mode: "no-cors", credentials: "omit" };
      await this.#send(url, { ...init, ...(signal === undefined ? {} : { signal }) });
      return true;
    } catch {
      signal?.throwIfAborted();
      return false;
    }
  }

  #send(url: string, init: RequestInit): Promise<Response> {
    return (this.options.fetch ?? globalThis.fetch.bind(globalThis))(url, init);
  }
}

/** @param what happened, of the address */
export function noAnswer(url: string, what: string, cause: unknown): WordloomError {
  const reasons = [cause, cause instanceof Error ? cause.cause : undefined];
  const reason = reasons.flatMap((error) => (error instanceof Error ? [error.message] : [])).join(": ");
  return new WordloomError("network-failed", `${url} ${what}${reason === "" ? "" : ` (${reason})`}`, { cause });
}
