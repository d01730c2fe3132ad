/** Options of `TextGenerator.connect`, checked once: each is honoured or refused by its name. */
import { WordloomError } from "../errors";
import type { ConnectRequest } from "../remote/connect-server";
import type { ServerKind } from "../remote/remote-types";
import { given, invalid, refuseUnknown } from "./option-checks";

/** Options of `TextGenerator.connect`. Left out, undefined and null all mean "not set"; an unknown name is refused. */
export interface ConnectOptions {
  /** As the server calls it. Default: its only one. */
  model?: string;
  /** Sent with every request as "Authorization: Bearer …", to this server alone; never stored, and in no message. */
  apiKey?: string;
  /** Sent with every request. */
  headers?: HeadersInit;
  /**
   * What runs there, so that options reach it in its own words. Default: found out from the models it lists; with `model`
   * given, too, nothing is asked beforehand.
   */
  server?: ServerKind;
  /** In place of the global one. */
  fetch?: typeof fetch;
  /** Stops the connecting: it rejects with `signal.reason`. */
  signal?: AbortSignal;
}

/** A server that writes where this device cannot run the model. */
export interface FallbackOptions extends Omit<ConnectOptions, "signal"> {
  /** As the `url` of `TextGenerator.connect`. */
  endpoint: string;
}

const KNOWN: Record<keyof ConnectOptions, true> = {
  model: true,
  apiKey: true,
  headers: true,
  server: true,
  fetch: true,
  signal: true,
};
const SERVERS: readonly ServerKind[] = ["openai", "vllm", "llama.cpp", "ollama"];

/**
 * @param baseUrl what a relative address is relative to: the page's base; undefined in Node
 * @param reason why a server is to write, in words
 * @throws WordloomError option-invalid with the option's name; a key is in no message
 */
export function resolveConnectOptions(
  url: string,
  options: ConnectOptions,
  baseUrl: string | undefined,
  reason: string,
): { request: ConnectRequest; signal: AbortSignal } {
  refuseUnknown(options, KNOWN, "connect");
  const { server, signal } = options;
  if (typeof url !== "string" || url.trim() === "") throw invalid("url", url, "the address of a server");
  if (given(signal) && !(signal instanceof AbortSignal)) throw invalid("signal", signal, "an AbortSignal");
  if (given(options.fetch) && typeof options.fetch !== "function") throw invalid("fetch", options.fetch, "a function");
  if (given(server) && !SERVERS.includes(server)) {
    throw invalid("server", server, `one of ${SERVERS.map((one) => `"${one}"`).join(", ")}`);
  }
  return {
    request: {
      url,
      baseUrl,
      server: server ?? undefined,
      model: textOf(options, "model"),
      apiKey: resolveKey(options.apiKey),
      headers: resolveHeaders(options.headers),
      fetch: options.fetch ?? undefined,
      reason,
    },
    signal: signal ?? new AbortController().signal,
  };
}

/** @throws WordloomError option-invalid */
export function resolveFallback(fallback: FallbackOptions | null | undefined): FallbackOptions | undefined {
  if (!given(fallback)) return undefined;
  if (typeof fallback !== "object" || !("endpoint" in fallback) || typeof fallback.endpoint !== "string") {
    throw invalid("fallback", fallback, "{ endpoint, model, … }");
  }
  const { endpoint, ...options } = fallback;
  if ("signal" in options) throw invalid("fallback", fallback, "without a signal: that of load stops it, too");
  resolveConnectOptions(endpoint, options, undefined, ""); // what is wrong is told now, not when it is needed
  return fallback;
}

function textOf(options: ConnectOptions, name: "model"): string | undefined {
  const value: unknown = options[name];
  if (!given(value)) return undefined;
  if (typeof value !== "string" || value === "") throw invalid(name, value, "a text");
  return value;
}

/** What cannot be in a header would be told by `fetch`, with the key in its message. */
function resolveKey(key: unknown): string | undefined {
  if (!given(key)) return undefined;
  if (typeof key === "string" && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new WordloomError("option-invalid", "apiKey is no text of visible ASCII characters");
}

function resolveHeaders(headers: unknown): Record<string, string> {
  if (!given(headers)) return {};
  try {
    return Object.fromEntries(new Headers(headers as HeadersInit)); // which refuses what is none
  } catch {
    throw new WordloomError("option-invalid", "headers cannot be sent: a name or a value of them is no header's");
  }
}
