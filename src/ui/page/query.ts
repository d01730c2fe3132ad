/**
 * The page's settings in its address: `?model=…&prompt=…&temperature=…&run`, named as the element's attributes. All of
 * them may also stand behind a "#", which browsers do not send to the server; a text that was written may stand only there.
 */
import { numberConverter, stopStringsConverter, type LoadSettings } from "../word-loom/options";
import { given } from "./given";
import { samplingAmong, SAMPLING_NAMES, type RunSettings, type Sampling } from "./sampling";
import type { Mode } from "./shell";

export interface PageQuery {
  load: LoadSettings;
  sampling: Sampling;
  run: RunSettings;
  mode: Mode;
  prompt: string;
  /** For the chat. */
  system: string;
  /** Written before, after the prompt. */
  text: string;
  /** Messages and answers that were shared, in turn. */
  turns: readonly (readonly [message: string, answer: string])[];
  /** Write as soon as the model is loaded. */
  runAtOnce: boolean;
  /** Names in the address that mean nothing here; the page says so. */
  unknown: string[];
}

const NAMES: ReadonlySet<string> = new Set([
  ...["model", "prompt", "mode", "system", "max-new-tokens", "seed", "stop-strings"],
  ...Object.values(SAMPLING_NAMES).map(({ address }) => address),
  ...["dtype", "context-length", "backend", "allow-reference", "run"],
  "lang", // read where the page's language is chosen
]);
/** Behind the "#" alone. */
const PRIVATE: ReadonlySet<string> = new Set(["text", "turns"]);

/** @param search as `location.search`; @param hash as `location.hash` */
export function readQuery(search: string, hash = ""): PageQuery {
  const open = new URLSearchParams(search);
  const hidden = new URLSearchParams(hash.includes("=") || hash === "#run" ? hash.slice(1) : "");
  const has = (name: string) => open.has(name) || hidden.has(name);
  const text = (name: string) => hidden.get(name) ?? open.get(name) ?? undefined;
  const number = (name: string) => numberConverter.fromAttribute(text(name) ?? null);
  const flag = (name: string) => has(name) && text(name) !== "false";
  const sampling = Object.entries(SAMPLING_NAMES).map(([name, { address }]) => [name, number(address)] as const);
  const turns = turnsOf(hidden.get("turns"));
  const unknown = [...open.keys(), ...[...hidden.keys()].filter((name) => !PRIVATE.has(name))];
  return {
    load: {
      model: text("model"),
      dtype: text("dtype"),
      contextLength: number("context-length"),
      backend: text("backend"),
      allowReference: flag("allow-reference"),
    },
    sampling: samplingAmong(Object.fromEntries(sampling)),
    run: given({
      maxNewTokens: number("max-new-tokens"),
      seed: number("seed"),
      stop: stopStringsConverter.fromAttribute(text("stop-strings") ?? null),
    }),
    mode: text("mode") === "chat" ? "chat" : "write",
    prompt: text("prompt") ?? "",
    system: text("system") ?? "",
    text: hidden.get("text") ?? "",
    turns: turns ?? [],
    runAtOnce: flag("run"),
    unknown: [...new Set(unknown)].filter((name) => !NAMES.has(name)).concat(turns ? [] : ["turns"]),
  };
}

/** Undefined for what is no list of pairs. */
function turnsOf(json: string | null): PageQuery["turns"] | undefined {
  if (json === null) return [];
  try {
    const turns: unknown = JSON.parse(json);
    const isTurn = (turn: unknown): turn is [string, string] =>
      Array.isArray(turn) && turn.length === 2 && turn.every((each) => typeof each === "string");
    return Array.isArray(turns) && turns.every(isTurn) ? turns : undefined;
  } catch {
    return undefined; // cut off on its way here, say
  }
}

/** What an address can carry; `text` and `turns` only where the reader wants them in it. */
export interface Shared extends Partial<Pick<PageQuery, "mode" | "prompt" | "system" | "text" | "turns" | "sampling">> {
  load: Partial<LoadSettings>;
  run?: RunSettings;
}

/**
 * An address of this page that opens it as it is now: everything behind the "#", so that no server sees it. Files of this
 * device cannot be shared: the one who opens it gets the page's own model, and the caller says so.
 *
 * @param pageAddress as `location.href`
 */
export function sharedAddress(pageAddress: string, { load, run = {}, sampling = {}, ...rest }: Shared): string {
  const shared = new URLSearchParams();
  const set = (name: string, value: string | number | undefined) => {
    if (value !== undefined && value !== "") shared.set(name, String(value));
  };
  if (typeof load.model === "string") set("model", load.model);
  if (rest.mode === "chat") set("mode", "chat");
  set("prompt", rest.prompt);
  set("system", rest.system);
  for (const [name, { address }] of Object.entries(SAMPLING_NAMES)) set(address, sampling[name as keyof Sampling]); // its keys
  set("max-new-tokens", run.maxNewTokens);
  set("seed", run.seed);
  if (run.stop) set("stop-strings", JSON.stringify(run.stop));
  set("dtype", load.dtype);
  set("context-length", load.contextLength);
  set("backend", load.backend);
  if (load.allowReference) set("allow-reference", "true");
  set("text", rest.text);
  if (rest.turns && rest.turns.length > 0) set("turns", JSON.stringify(rest.turns));
  const address = new URL(pageAddress);
  address.search = "";
  address.hash = shared.toString();
  return address.href;
}

/**
 * Where a model would be fetched from, if not from the page's own server: then it needs a click first.
 *
 * @param source as the element's `model`; undefined is the bundled one
 * @param pageAddress as `document.baseURI`
 * @returns the other server's name; undefined for the page's own
 */
export function foreignHost(source: LoadSettings["model"], pageAddress: string): string | undefined {
  if (typeof source !== "string") return undefined; // the bundled one, or files of this device
  if (source.startsWith("hf:")) return "huggingface.co";
  if (!URL.canParse(source, pageAddress)) return undefined; // nothing can be fetched from there; loading says so
  const address = new URL(source, pageAddress);
  return address.origin === new URL(pageAddress).origin ? undefined : address.host || address.protocol;
}

/**
 * What a person types as a model: "org/name" is one on the hub, everything else stands as it is.
 *
 * @returns a source for `TextGenerator.load`; undefined for nothing
 */
export function typedSource(typed: string): string | undefined {
  const text = typed.trim();
  if (text === "") return undefined;
  const onHub = /^[\w-][\w.-]*\/[\w.-]+(@[\w./-]+)?(\/[^\s?#]+\.gguf)?$/i;
  return onHub.test(text) && !text.startsWith("models/") && !/^[\w.-]+\/[^/]*\.gguf$/i.test(text) ? `hf:${text}` : text;
}
