/**
 * What a page and the frame with embed.html in it say to each other. Every message is `{ wordloom: 1, type, … }`, where
 * 1 is the protocol's version.
 *
 * The frame speaks only to the window that holds it, only once that has said "connect", and only where its origin is
 * among those that the frame's address names (`?origin=https://example.com`, as often as needed), or is the frame's own.
 */
import type { GenerateSettings } from "../word-loom/options";

export const VERSION = 1;

/** What a page may say. */
export type PageMessage =
  | { type: "connect" }
  | { type: "load" }
  | { type: "generate"; prompt: string | undefined; options: Partial<GenerateSettings> }
  | { type: "continue" }
  | { type: "stop" }
  | { type: "reset" };

/** What the frame answers: the element's events as they are, and what follows. */
export const FORWARDED_EVENTS = [
  "model-progress",
  "model-ready",
  "generated-token",
  "generation-end",
  "generation-error",
] as const;

export type FrameMessage =
  | { type: (typeof FORWARDED_EVENTS)[number]; detail: unknown }
  /** Answers "connect"; and whenever the element's state changes. */
  | { type: "state"; state: string; text: string }
  /** The content's height in CSS pixels; after "connect", and whenever it changes. */
  | { type: "size"; height: number }
  /** A message that was not understood. */
  | { type: "refused"; message: string };

/** Of `generate`; the same names and values as the element's properties. The generator checks the values. */
const OPTIONS: Record<keyof GenerateSettings, "number" | "strings"> = {
  maxNewTokens: "number",
  temperature: "number",
  topK: "number",
  topP: "number",
  minP: "number",
  repetitionPenalty: "number",
  seed: "number",
  stopStrings: "strings",
};

/**
 * Origins that a frame's address lets in; its own where it names none.
 *
 * @throws RangeError for what is not an origin as browsers write it: "*", "null", an address with a path
 */
export function allowedOrigins(search: string, own: string): ReadonlySet<string> {
  const named = new URLSearchParams(search).getAll("origin");
  for (const origin of named) {
    const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin;
    if (!isOrigin) throw new RangeError(`origin=${origin} is no origin; https://example.com is one`);
  }
  return new Set(named.length > 0 ? named : [own]);
}

/**
 * @returns the message; a string that says what is wrong with it; undefined for what is no message of this protocol
 *   (other scripts of a page use postMessage, too)
 */
export function readPageMessage(data: unknown): PageMessage | string | undefined {
  if (typeof data !== "object" || data === null || !("wordloom" in data)) return undefined;
  if (data.wordloom !== VERSION) return `version ${String(data.wordloom)} is not known here; this is ${VERSION}`;
  const { type, prompt, options, ...rest } = data as Record<string, unknown>;
  switch (type) {
    case "connect":
    case "load":
    case "continue":
    case "stop":
    case "reset":
      return prompt === undefined && options === undefined ? nothingBut(rest, { type }) : `${type} takes no options`;
    case "generate": {
      if (prompt !== undefined && typeof prompt !== "string") return "prompt is not a string";
      const problem = problemOf(options);
      return problem ?? nothingBut(rest, { type, prompt, options: options ?? {} });
    }
    default:
      return `there is no message of type ${JSON.stringify(type) ?? "undefined"}`;
  }
}

function nothingBut(rest: Record<string, unknown>, message: PageMessage): PageMessage | string {
  const [unknown] = Object.keys(rest).filter((name) => name !== "wordloom");
  return unknown === undefined ? message : `${message.type} has no ${unknown}`;
}

function problemOf(options: unknown): string | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== "object" || options === null) return "options is not an object";
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) return `there is no option ${name}`;
    const isStrings = Array.isArray(value) && value.every((one) => typeof one === "string");
    const isRight = OPTIONS[name as keyof GenerateSettings] === "number" ? typeof value === "number" : isStrings;
    if (!isRight)
      return `${name} is no ${OPTIONS[name as keyof GenerateSettings] === "number" ? "number" : "list of strings"}`;
  }
  return undefined;
}
