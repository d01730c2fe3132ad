/** Requests to one server: with the caller's key, to that server alone, and failures told apart. */
import { WordloomError } from "../errors";
import { HttpClient, noAnswer } from "../storage/http-client";
import { Transient, type RetryPolicy } from "../storage/retries";
import { refusalOf } from "./refusals";

export interface ServerAccess {
  fetch: typeof fetch | undefined;
  headers: Readonly<Record<string, string>>;
  /** Sent as "Authorization: Bearer …". */
  apiKey: string | undefined;
  /** Default: RETRY_POLICY. */
  retries?: RetryPolicy;
}

/** Shorter values are no secrets, and would be found in innocent words. */
const SHORTEST_SECRET = 6;

export class ServerClient {
  readonly #http: HttpClient;
  readonly #secrets: readonly string[];

  constructor({ fetch, headers, apiKey, retries }: ServerAccess) {
    const bearer = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` };
    this.#http = new HttpClient({ fetch, headers: { ...headers, ...bearer }, retries });
    this.#secrets = [apiKey ?? "", ...Object.values(headers)].filter((value) => value.length >= SHORTEST_SECRET);
  }

  /**
   * JSON, as the server gives it.
   *
   * @throws WordloomError network-failed, cors-refused, or by status; server-failed if it is no JSON;
   *   `signal.reason` on abort
   */
  async getJson(url: string, signal: AbortSignal): Promise<unknown> {
    return this.json(url, await this.#ask(url, undefined, signal), signal);
  }

  async postJson(url: string, body: object, signal: AbortSignal): Promise<unknown> {
    return this.json(url, await this.#ask(url, body, signal), signal);
  }

  /** An answer that is a success; its body has not been read. Throws as `getJson`. */
  post(url: string, body: object, signal: AbortSignal): Promise<Response> {
    return this.#ask(url, body, signal);
  }

  /** The same failure without a key in its words: servers and browsers like to repeat what they were sent. */
  cleaned(error: WordloomError): WordloomError {
    const reason = error.cause instanceof Error ? error.cause.message : "";
    if (!this.#secrets.some((secret) => error.message.includes(secret) || reason.includes(secret))) return error;
    const hidden = this.#secrets.reduce((text, secret) => text.replaceAll(secret, "…"), error.message);
    return new WordloomError(error.code, hidden, { remedy: error.remedy });
  }

  /** Asked again only where the server has not let the request in: it must not be paid for twice. */
  async #ask(url: string, body: object | undefined, signal: AbortSignal): Promise<Response> {
    const retries = this.#http.retries();
    for (;;) {
      try {
        const response = await this.#http.fetch(url, {
          ...(body === undefined
            ? { headers: { Accept: "application/json" } }
            : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
          signal,
          redirect: "manual", // neither a prompt nor a key goes where the caller has not sent it
        });
        if (response.ok) return response;
        throw isRedirection(response) ? redirected(url) : await refusalOf(url, response);
      } catch (failure) {
        signal.throwIfAborted();
        const mayPass = failure instanceof Transient && (body === undefined || failure.error.code !== "network-failed");
        const failed = failure instanceof Transient && !mayPass ? failure.error : failure;
        await retries.next(failed, signal).catch((error: unknown) => {
          throw error instanceof WordloomError ? this.cleaned(error) : error;
        });
      }
    }
  }

  /** The body of an answer. Throws as `getJson`. */
  async json(url: string, response: Response, signal: AbortSignal): Promise<unknown> {
    let text: string;
    try {
      text = await response.text();
    } catch (cause) {
      signal.throwIfAborted();
      throw this.cleaned(noAnswer(url, "broke off", cause));
    }
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw this.cleaned(noJson(url, text, cause));
    }
  }
}

/** Instead of JSON: a web page, mostly since the address is that of a site and not of an API. */
export function noJson(url: string, text: string, cause?: unknown): WordloomError {
  if (/^\s*</.test(text)) {
    const remedy = "Check the address: it is that of the API, and mostly ends with /v1.";
    return new WordloomError("model-not-found", `${url} answered with a web page`, { remedy });
  }
  const message = `${url} answered with what is no JSON: ${JSON.stringify(text.slice(0, 80))}`;
  return new WordloomError("server-failed", message, { cause });
}

/** In a browser a redirection that is not followed has status 0. */
function isRedirection({ type, status }: Response): boolean {
  return type === "opaqueredirect" || (status >= 300 && status < 400);
}

function redirected(url: string): WordloomError {
  const remedy = "Pass the address that it leads to, if you trust it: requests are not sent on by themselves.";
  return new WordloomError("network-failed", `${url} leads to another address`, { remedy });
}
