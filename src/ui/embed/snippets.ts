/** What to write into a page of one's own for the present settings, and the policy that the page then needs. */
import type { GenerateSettings, LoadSettings } from "../word-loom/options";

export type EmbeddedSettings = Partial<LoadSettings & GenerateSettings> & { prompt?: string };

/** Attributes of the element and names in embed.html's address; what is not here cannot stand in markup. */
const ATTRIBUTES = {
  model: "model",
  prompt: "prompt",
  maxNewTokens: "max-new-tokens",
  temperature: "temperature",
  topK: "top-k",
  topP: "top-p",
  minP: "min-p",
  repetitionPenalty: "repetition-penalty",
  seed: "seed",
  stopStrings: "stop-strings",
  dtype: "dtype",
  contextLength: "context-length",
  backend: "backend",
  allowReference: "allow-reference",
} as const satisfies Partial<Record<keyof EmbeddedSettings, string>>;

export interface Snippets {
  /** The element, by a script tag. */
  script: string;
  /** `Content-Security-Policy` of a page that allows nothing else. */
  scriptPolicy: string;
  frame: string;
  framePolicy: string;
}

/**
 * @param site address of this site's folder, which ends with "/": models that are named relatively lie there, and
 *   embed.html
 */
export function snippetsFor(settings: EmbeddedSettings, site: string): Snippets {
  const given = Object.entries(ATTRIBUTES).flatMap(([property, name]): [string, string][] => {
    const value = settings[property as keyof typeof ATTRIBUTES]; // its own keys
    if (value === undefined || value === null || value === "" || value === false) return [];
    if (value === true) return [[name, ""]];
    if (name === "stop-strings") return [[name, JSON.stringify(value)]];
    return typeof value === "object" ? [] : [[name, String(value)]]; // files have no address
  });
  const model = modelAddress(settings.model, site);
  const attributes = [["model", model] as const, ...given.filter(([name]) => name !== "model")];
  const markup = attributes.map(([name, value]) => (value === "" ? name : `${name}="${escaped(value)}"`)).join("\n  ");
  const query = new URLSearchParams(given.filter(([name, value]) => name !== "model" || value !== ""));
  query.append("origin", "https://example.com");
  const { origin } = new URL(site);
  return {
    script: `<script type="module" src="word-loom.js"></script>\n\n<word-loom\n  ${markup}\n></word-loom>`,
    scriptPolicy: `script-src 'self'; worker-src blob:; connect-src ${modelOrigins(model)}`,
    frame: `<iframe\n  src="${escaped(new URL(`embed.html?${query}`, site).href)}"\n  title="Wordloom"\n  style="inline-size: 100%; block-size: 24rem; border: 0"\n></iframe>`,
    framePolicy: `frame-src ${origin}`,
  };
}

function modelAddress(model: EmbeddedSettings["model"], site: string): string {
  if (typeof model === "object" && model !== null) return "models/…"; // files of this device: theirs to put somewhere
  if (model === undefined || model === null || model === "") return new URL("models/wordloom-stories", site).href;
  return model.startsWith("hf:") ? model : new URL(model, site).href;
}

/** Where a page fetches the model from. The hub answers with addresses of its storage. */
function modelOrigins(model: string): string {
  if (model.startsWith("hf:")) return "https://huggingface.co https://*.hf.co";
  return URL.canParse(model) ? new URL(model).origin : "'self'";
}

function escaped(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;" };
  return text.replace(/[&"<>]/g, (character) => entities[character] ?? character);
}
