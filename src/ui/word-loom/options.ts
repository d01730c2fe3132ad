/** The element's attributes as the options of `TextGenerator.load` and `generate`; only what was set is passed on. */
import type { ConnectOptions, FallbackOptions } from "../../api/connect-options";
import type { LoadOptions, PlanOptions } from "../../api/options";
import type { TextGenerator } from "../../api/text-generator";
import { WordloomError } from "../../errors";
import type { GenerateOptions } from "../generator";

/** Where the page keeps the model that needs no download from elsewhere; relative to the page. */
export const BUNDLED_MODEL = "models/wordloom-stories";

/** An address, or the files themselves. */
export type ModelSource = Parameters<typeof TextGenerator.load>[0];

export interface LoadSettings {
  model: ModelSource | undefined;
  dtype: string | undefined;
  contextLength: number | undefined;
  backend: string | undefined;
  allowReference: boolean;
  /** A server writes in place of this device; `model` is then its name for one. */
  endpoint?: string | undefined;
  /** A server that writes where this device cannot run the model. */
  fallbackEndpoint?: string | undefined;
  /** Its model's name; default: its only one. */
  fallbackModel?: string | undefined;
  /** Of either server. */
  apiKey?: string | undefined;
}

export const LOAD_SETTINGS: readonly (keyof LoadSettings)[] = [
  "model",
  "dtype",
  "contextLength",
  "backend",
  "allowReference",
  "endpoint",
  "fallbackEndpoint",
  "fallbackModel",
  "apiKey",
];

export interface GenerateSettings {
  maxNewTokens: number | undefined;
  temperature: number | undefined;
  topK: number | undefined;
  topP: number | undefined;
  minP: number | undefined;
  repetitionPenalty: number | undefined;
  seed: number | undefined;
  stopStrings: readonly string[] | undefined;
}

export interface AllGenerateSettings extends GenerateSettings {
  /** Those that have no attribute. */
  moreOptions?: GenerateOptions | undefined;
}

export function loadOptions(settings: LoadSettings): LoadOptions {
  return withoutUndefined({
    // Attributes are any text; `load` refuses by name what is none of its values.
    dtype: settings.dtype as LoadOptions["dtype"],
    contextLength: settings.contextLength,
    backend: settings.backend as LoadOptions["backend"],
    allowReference: settings.allowReference || undefined,
  });
}

/** For the server of `endpoint`. Settings of this device are refused: they would mean nothing there. */
export function connectOptions(settings: LoadSettings): ConnectOptions {
  const [misplaced] = Object.keys(loadOptions(settings));
  if (misplaced !== undefined || settings.fallbackEndpoint) {
    const name = misplaced ?? "fallback-endpoint";
    throw new WordloomError("option-invalid", `${name} means nothing beside endpoint, whose server runs the model`);
  }
  const { model, apiKey } = settings;
  if (typeof model === "object" && model !== null) {
    throw new WordloomError(
      "option-invalid",
      "files cannot be the model of a server; remove endpoint to load them here",
    );
  }
  return withoutUndefined({ model: model ?? undefined, apiKey: apiKey ?? undefined });
}

export function fallbackOptions(settings: LoadSettings): FallbackOptions | undefined {
  const { fallbackEndpoint: endpoint, fallbackModel: model, apiKey } = settings;
  if (!endpoint) return undefined;
  return { endpoint, ...withoutUndefined({ model: model ?? undefined, apiKey: apiKey ?? undefined }) };
}

/** "example.com", of a server that writes; an address that is none stands as it is, and connecting tells the rest. */
export function hostOf(endpoint: string, pageAddress: string): string {
  return URL.canParse(endpoint, pageAddress) ? new URL(endpoint, pageAddress).host : endpoint;
}

/** Those of them that change what a model takes. */
export function planOptions({ dtype, contextLength }: LoadSettings): PlanOptions {
  return withoutUndefined({ dtype: dtype as PlanOptions["dtype"], contextLength }); // checked by name, as above
}

export function generateOptions(settings: AllGenerateSettings): GenerateOptions {
  return withoutUndefined({
    maxNewTokens: settings.maxNewTokens,
    temperature: settings.temperature,
    topK: settings.topK,
    topP: settings.topP,
    minP: settings.minP,
    repetitionPenalty: settings.repetitionPenalty,
    seed: settings.seed,
    stop: settings.stopStrings,
    ...settings.moreOptions,
  });
}

/** Equal keys: the same source, loaded the same way. */
export function loadKey(settings: LoadSettings): string {
  const model = settings.model ?? BUNDLED_MODEL; // null where the attribute was removed
  const { endpoint, fallbackEndpoint, fallbackModel, apiKey } = settings;
  const server = [endpoint, fallbackEndpoint, fallbackModel, apiKey];
  return JSON.stringify([typeof model === "string" ? model : numberOf(model), loadOptions(settings), server]);
}

const NUMBERS = new WeakMap<object, number>();
let lastNumber = 0;

/** Files have no address: each list and each folder is a model of its own. */
function numberOf(files: object): number {
  const known = NUMBERS.get(files) ?? ++lastNumber;
  NUMBERS.set(files, known);
  return known;
}

/**
 * An attribute's number. What is not a number becomes NaN, which the generator refuses by the option's name: a typing
 * error must not silently mean the default.
 */
export const numberConverter = {
  fromAttribute(value: string | null): number | undefined {
    if (value === null) return undefined;
    return value.trim() === "" ? Number.NaN : Number(value);
  },
};

/** `stop-strings`: a JSON array of strings, or else one stop string, taken as it is. */
export const stopStringsConverter = {
  fromAttribute(value: string | null): readonly string[] | undefined {
    if (value === null) return undefined;
    if (value.trimStart().startsWith("[")) {
      try {
        const parsed: unknown = JSON.parse(value);
        if (Array.isArray(parsed) && parsed.every((item) => typeof item === "string")) return parsed;
      } catch {
        return [value]; // a stop string that begins with a bracket
      }
    }
    return [value];
  },
};

function withoutUndefined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  // Object.fromEntries forgets the keys' types; they are those of T.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
