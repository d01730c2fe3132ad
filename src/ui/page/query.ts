/** The page's settings in its address: `?model=…&prompt=…&temperature=…&run`, named as the element's attributes. */
import { numberConverter, stopStringsConverter, type GenerateSettings, type LoadSettings } from "../word-loom/options";

export interface PageQuery {
  load: LoadSettings;
  generate: GenerateSettings;
  prompt: string;
  /** Write as soon as the model is loaded. */
  run: boolean;
  /** Names in the address that mean nothing here; the page says so. */
  unknown: string[];
}

const NAMES: ReadonlySet<string> = new Set([
  "model",
  "prompt",
  "max-new-tokens",
  "temperature",
  "top-k",
  "top-p",
  "min-p",
  "repetition-penalty",
  "seed",
  "stop-strings",
  "dtype",
  "context-length",
  "backend",
  "allow-reference",
  "run",
  "lang", // read where the page's language is chosen
]);

/** @param search as `location.search` */
export function readQuery(search: string): PageQuery {
  const query = new URLSearchParams(search);
  const text = (name: string) => query.get(name) ?? undefined;
  const number = (name: string) => numberConverter.fromAttribute(query.get(name));
  const flag = (name: string) => query.has(name) && query.get(name) !== "false";
  return {
    load: {
      model: text("model"),
      dtype: text("dtype"),
      contextLength: number("context-length"),
      backend: text("backend"),
      allowReference: flag("allow-reference"),
    },
    generate: {
      maxNewTokens: number("max-new-tokens"),
      temperature: number("temperature"),
      topK: number("top-k"),
      topP: number("top-p"),
      minP: number("min-p"),
      repetitionPenalty: number("repetition-penalty"),
      seed: number("seed"),
      stopStrings: stopStringsConverter.fromAttribute(query.get("stop-strings")),
    },
    prompt: text("prompt") ?? "",
    run: flag("run"),
    unknown: [...new Set(query.keys())].filter((name) => !NAMES.has(name)),
  };
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
