/** What a session is created with, checked as the Prompt API's explainer says. */
import type { GenerateOptions } from "../../api/generate-options";
import type { ToolDefinition } from "../../tokenizer/tokenizer";
import type { AdaptedGenerator } from "../generator";
import { notSupported } from "./failures";
import type { LanguageModelContentType, LanguageModelMessage } from "./prompt-messages";

export interface LanguageModelExpected {
  type: LanguageModelContentType;
  languages?: readonly string[];
}

export interface LanguageModelTool {
  name: string;
  description: string;
  /** JSON schema of an object. */
  inputSchema: object;
  /** With it the session runs the tool itself, and prompts again with the result. */
  execute?: (given: Record<string, unknown>) => unknown;
}

export const SAMPLING_MODES = [
  ...(["most-predictable", "predictable", "slightly-predictable", "balanced"] as const),
  ...(["slightly-creative", "creative", "most-creative"] as const),
] as const;
export type LanguageModelSamplingMode = (typeof SAMPLING_MODES)[number];

export interface LanguageModelCoreOptions {
  topK?: number;
  temperature?: number;
  samplingMode?: LanguageModelSamplingMode;
  expectedInputs?: readonly LanguageModelExpected[];
  expectedOutputs?: readonly LanguageModelExpected[];
  tools?: readonly LanguageModelTool[];
  /** Only `{ effort: "none" }`: how much a model thinks is not controlled. What it thinks is never told. */
  thinking?: { effort?: string; includeThoughts?: boolean };
}

export interface LanguageModelCreateOptions extends LanguageModelCoreOptions {
  initialPrompts?: readonly LanguageModelMessage[];
  /** Gets a target of `downloadprogress` events, whose `loaded` goes from 0 to 1. */
  monitor?: (monitor: EventTarget) => void;
  /** Stops creating; later, destroys the session. */
  signal?: AbortSignal;
}

export interface LanguageModelParams {
  readonly defaultTopK: number;
  readonly maxTopK: number;
  readonly defaultTemperature: number;
  readonly maxTemperature: number;
}

const MAX_TOP_K = 128;
const MAX_TEMPERATURE = 2;
/** Where the model suggests nothing. */
const BALANCED = { temperature: 0.8, topP: 0.95 };
const DEFAULT_TOP_K = 64;

/** By what the balanced temperature is multiplied; 0 always takes the likeliest token. */
const WARMTH: Record<LanguageModelSamplingMode, number> = {
  "most-predictable": 0,
  predictable: 0.5,
  "slightly-predictable": 0.75,
  balanced: 1,
  "slightly-creative": 1.2,
  creative: 1.4,
  "most-creative": 1.8,
};

export function paramsOf(generator: AdaptedGenerator | undefined): LanguageModelParams {
  const { temperature, topK } = generator?.info.suggestedSampling ?? {};
  return {
    defaultTopK: Math.min(topK || DEFAULT_TOP_K, MAX_TOP_K),
    maxTopK: MAX_TOP_K,
    defaultTemperature: temperature ?? BALANCED.temperature,
    maxTemperature: MAX_TEMPERATURE,
  };
}

/** What has been asked for of the sampling; null where the other of the two ways was taken. */
export interface SessionSampling {
  options: GenerateOptions;
  samplingMode: LanguageModelSamplingMode | null;
  topK: number;
  temperature: number;
}

/** @throws TypeError, RangeError */
export function samplingOf(options: LanguageModelCoreOptions, generator: AdaptedGenerator): SessionSampling {
  const params = paramsOf(generator);
  const { suggestedSampling } = generator.info;
  if (options.topK === undefined && options.temperature === undefined) {
    const samplingMode = options.samplingMode ?? "balanced";
    const balanced = suggestedSampling.temperature === undefined ? BALANCED : suggestedSampling;
    const temperature = (balanced.temperature ?? 1) * WARMTH[samplingMode];
    const { topK = params.defaultTopK } = suggestedSampling;
    return {
      ...{ samplingMode, topK, temperature },
      options: temperature === 0 ? { temperature } : { ...balanced, temperature },
    };
  }
  const topK = Math.min(Math.floor(options.topK ?? params.defaultTopK), MAX_TOP_K);
  const temperature = Math.min(options.temperature ?? params.defaultTemperature, MAX_TEMPERATURE);
  return { samplingMode: null, topK, temperature, options: { topK, temperature } };
}

const KNOWN: ReadonlySet<string> = new Set([
  ...["topK", "temperature", "samplingMode", "expectedInputs", "expectedOutputs", "tools", "thinking"],
  ...["initialPrompts", "monitor", "signal"],
]);

/**
 * Wrong values, which no implementation takes. A name that the draft does not have is ignored by browsers; here the
 * console says so.
 *
 * @throws TypeError, RangeError
 */
export function checkOptions(options: LanguageModelCreateOptions): void {
  for (const name of Object.keys(options)) {
    if (!KNOWN.has(name)) console.warn(`LanguageModel: the option ${name} is not known, and ignored`);
  }
  const { topK, temperature, samplingMode } = options;
  if (samplingMode !== undefined && !SAMPLING_MODES.includes(samplingMode)) {
    throw new TypeError(`samplingMode is ${samplingMode}; it must be one of ${SAMPLING_MODES.join(", ")}`);
  }
  if (samplingMode !== undefined && (topK ?? temperature) !== undefined) {
    throw new TypeError("samplingMode cannot be given with topK or temperature");
  }
  if (temperature !== undefined && !(temperature >= 0)) throw new RangeError(`temperature is ${temperature}`);
  if (topK !== undefined && !(topK >= 1)) throw new RangeError(`topK is ${topK}`);
  for (const { languages } of [...(options.expectedInputs ?? []), ...(options.expectedOutputs ?? [])]) {
    if (languages) Intl.getCanonicalLocales([...languages]); // a RangeError for what is no language tag
  }
  checkTools(options);
}

function checkTools({ tools = [], expectedInputs = [], expectedOutputs = [] }: LanguageModelCoreOptions): void {
  for (const tool of tools) {
    for (const [name, type] of Object.entries({ name: "string", description: "string", inputSchema: "object" })) {
      const value: unknown = tool[name as keyof LanguageModelTool];
      if (typeof value !== type || value === null) throw new TypeError(`a tool's ${name} must be a ${type}`);
    }
    if (tool.execute !== undefined && typeof tool.execute !== "function") {
      throw new TypeError(`execute of the tool ${tool.name} is no function`);
    }
  }
  const ownLoop = tools.filter(({ execute }) => execute === undefined).length;
  if (ownLoop === 0) return;
  if (ownLoop < tools.length) throw new TypeError("either all tools have an execute function, or none");
  const has = (list: readonly LanguageModelExpected[], wanted: string) => list.some(({ type }) => type === wanted);
  if (!has(expectedOutputs, "tool-call") || !has(expectedInputs, "tool-response")) {
    throw new TypeError("tools without execute need tool-call in expectedOutputs and tool-response in expectedInputs");
  }
}

/** Why these options cannot be had, whatever the model; undefined if they can. */
export function whyUnavailable(
  { expectedInputs = [], expectedOutputs = [], thinking }: LanguageModelCoreOptions,
  languages: readonly string[] | undefined,
): string | undefined {
  const input = expectedInputs.find(({ type }) => !["text", "tool-call", "tool-response"].includes(type));
  if (input) return `input of type ${input.type} is not supported`;
  const output = expectedOutputs.find(({ type }) => !["text", "tool-call"].includes(type));
  if (output) return `output of type ${output.type} is not supported`;
  if (thinking && ((thinking.effort ?? "none") !== "none" || thinking.includeThoughts === true)) {
    return "how much a model thinks is not controlled, and its thoughts are not told";
  }
  if (!languages) return undefined;
  const known = new Set(languages.map((tag) => new Intl.Locale(tag).language));
  const unknown = [...expectedInputs, ...expectedOutputs]
    .flatMap((one) => one.languages ?? [])
    .find((tag) => !known.has(new Intl.Locale(tag).language));
  return unknown === undefined ? undefined : `the language ${unknown} is not among ${languages.join(", ")}`;
}

export function toolDefinitions(tools: readonly LanguageModelTool[]): ToolDefinition[] {
  return tools.map(({ name, description, inputSchema }) => ({
    ...{ name, description },
    parameters: inputSchema as Record<string, unknown>, // checked to be an object
  }));
}

export interface LanguageModelPromptOptions {
  responseConstraint?: object;
  omitResponseConstraintInput?: boolean;
  signal?: AbortSignal;
}

/**
 * `responseConstraint` → the constraint of `generate`. It is not shown to the model, with `omitResponseConstraintInput` or
 * without.
 *
 * @param hasTools a constraint holds for the whole answer, so that a call could not be written
 * @throws TypeError for what is no constraint; a DOMException NotSupportedError together with tools
 */
export function constraintOf(options: LanguageModelPromptOptions, hasTools: boolean): GenerateOptions {
  const constraint: unknown = options.responseConstraint;
  if (constraint === undefined || constraint === null) {
    if (options.omitResponseConstraintInput === true) {
      throw new TypeError("omitResponseConstraintInput is given without responseConstraint");
    }
    return {};
  }
  if (typeof constraint !== "object")
    throw new TypeError("responseConstraint must be a RegExp or a JSON schema object");
  if (hasTools) throw notSupported("responseConstraint is not supported in a session with tools");
  if (constraint instanceof RegExp) return { constraint: { regex: constraint } };
  return { constraint: { jsonSchema: constraint as Record<string, unknown> } }; // `generate` reads it
}
