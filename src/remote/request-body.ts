/**
 * A request in a server's own words. Each setting is sent, or left out because the server's default is the same, or
 * refused by its name: none is ignored.
 *
 * Sources: OpenAI's API reference (completions, chat); Ollama, docs/api/openai-compatibility.mdx, "Supported request
 * fields"; vLLM, vllm/entrypoints/openai/completion/protocol.py and chat_completion/protocol.py; llama.cpp,
 * tools/server/README.md, options of /completion, which its OpenAI endpoints take, too.
 */
import type { ChatInput, GenerateRequest, TaggedInput } from "../engine/engine";
import { WordloomError } from "../errors";
import type { ChatMessage } from "../tokenizer/tokenizer";
import { isRecord } from "./json-values";
import type { ServerKind } from "./remote-types";

type Fields = Record<string, unknown>;
/** Its fields for a value; undefined: this very value cannot be had. */
type InWords<V> = (value: V) => Fields | undefined;

interface Row<V> {
  /** This value is what a server does by itself, or with the setting that this one belongs to switched off. */
  isNeutral: (value: V) => boolean;
  /** Only of meaning with another setting, which is refused in its place. */
  belongsTo?: string;
  words: Partial<Record<ServerKind, InWords<V>>>;
}

/** How each kind is called in messages. */
const NAMES: Record<ServerKind, string> = {
  openai: "an OpenAI-compatible server",
  vllm: "vLLM",
  "llama.cpp": "llama.cpp's server",
  ollama: "Ollama's OpenAI endpoint",
};

/** Their own defaults come from a generation_config.json or the command line, so that everything has to be said. */
const SAYS_EVERYTHING: ReadonlySet<ServerKind> = new Set(["vllm", "llama.cpp"]);

/** The table holds rows of many types; `fieldsOf` gives each the value of its own name. */
const row = <V>(isNeutral: V | ((value: V) => boolean), words: Row<V>["words"], belongsTo?: string): Row<never> => ({
  isNeutral: isNeutral instanceof Function ? isNeutral : (value: V) => value === isNeutral,
  words,
  ...(belongsTo === undefined ? {} : { belongsTo }),
});
const as =
  (name: string): InWords<number | boolean> =>
  (value) => ({ [name]: value });
const lastN =
  (name: string): InWords<number> =>
  (value) => ({ [name]: value === Infinity ? -1 : value });
const isEmpty = (list: { size: number } | { length: number }) => ("size" in list ? list.size : list.length) === 0;

/** By the names of SamplingSettings. A name that is missing here is a fault, which a test finds. */
const SAMPLING: Readonly<Record<string, Row<never>>> = {
  temperature: row<number>(() => false, {
    openai: as("temperature"),
    vllm: as("temperature"),
    "llama.cpp": as("temperature"),
    ollama: as("temperature"),
  }),
  topNSigma: row<number>(0, { "llama.cpp": (value) => ({ top_n_sigma: value === 0 ? -1 : value }) }),
  // vLLM before 0.9 refuses 0; -1 has always meant no cut.
  topK: row<number>(0, { vllm: (value) => ({ top_k: value === 0 ? -1 : value }), "llama.cpp": as("top_k") }),
  typicalP: row<number>(1, { "llama.cpp": as("typical_p") }),
  topP: row<number>(1, { openai: as("top_p"), vllm: as("top_p"), "llama.cpp": as("top_p"), ollama: as("top_p") }),
  minP: row<number>(0, { vllm: as("min_p"), "llama.cpp": as("min_p") }),
  xtcProbability: row<number>(0, { "llama.cpp": as("xtc_probability") }),
  xtcThreshold: row<number>(() => true, { "llama.cpp": as("xtc_threshold") }, "xtcProbability"),
  repetitionPenalty: row<number>(1, { vllm: as("repetition_penalty"), "llama.cpp": as("repeat_penalty") }),
  frequencyPenalty: row<number>(0, {
    openai: as("frequency_penalty"),
    vllm: as("frequency_penalty"),
    "llama.cpp": as("frequency_penalty"),
    ollama: as("frequency_penalty"),
  }),
  presencePenalty: row<number>(0, {
    openai: as("presence_penalty"),
    vllm: as("presence_penalty"),
    "llama.cpp": as("presence_penalty"),
    ollama: as("presence_penalty"),
  }),
  penaltyLastN: row<number>(Infinity, { "llama.cpp": lastN("repeat_last_n") }),
  dryMultiplier: row<number>(0, { "llama.cpp": as("dry_multiplier") }),
  dryBase: row<number>(() => true, { "llama.cpp": as("dry_base") }, "dryMultiplier"),
  dryAllowedLength: row<number>(() => true, { "llama.cpp": as("dry_allowed_length") }, "dryMultiplier"),
  dryPenaltyLastN: row<number>(() => true, { "llama.cpp": lastN("dry_penalty_last_n") }, "dryMultiplier"),
  dryBreakers: row<unknown>(() => true, {}), // an engine makes them of drySequenceBreakers
  noRepeatNgramSize: row<number>(0, {}),
  minNewTokens: row<number>(0, { vllm: as("min_tokens") }),
  forcedTokens: row<readonly number[]>(isEmpty, {}),
  logitBias: row<ReadonlyMap<number, number>>(isEmpty, {
    openai: openaiBias,
    vllm: openaiBias,
    "llama.cpp": (bias) => ({
      logit_bias: Array.from(bias, ([id, value]) => [id, value === -Infinity ? false : value]),
    }),
  }),
  topLogprobs: row<number>(0, { openai: () => ({}), vllm: () => ({}), "llama.cpp": () => ({}) }), // see logprobFields
  tokenStatistics: row<boolean>(false, {}),
  seed: row<unknown>(() => true, {}), // see seedFields
};

/** Of what is not sampling; a name that is missing here is refused unless it is empty or off. */
const ANSWER: Readonly<Record<string, Row<never>>> = {
  // Servers keep to their own part of JSON schema, and do not tell whether an answer that they cut was whole.
  constraint: row<unknown>(undefined, {}),
  // What they have of it shares no seed: answer i would not be that of seed + i.
  n: row<number>(1, {}),
  reusePrefix: row<boolean>(true, { "llama.cpp": as("cache_prompt") }),
  drySequenceBreakers: row<readonly string[]>(
    () => true,
    // It refuses an empty list, so none is said by a character that no text has.
    { "llama.cpp": (strings) => ({ dry_sequence_breakers: strings.length === 0 ? ["\u0000"] : [...strings] }) },
    "dryMultiplier",
  ),
};

/** What `requestBody` puts into words itself. */
const SAID_ELSEWHERE: ReadonlySet<string> = new Set([
  ...["input", "sampling", "seed", "maxNewTokens", "stop", "ignoreEos", "stopTokenIds", "endTokenIds"],
  "maxTimeMs", // the engine stops the request itself
]);

/** The largest seed that is not taken for "a random one": llama.cpp has 32 bits, and -1. */
export const MAX_SEED = 2 ** 32 - 2;

export interface ServerRequest {
  /** Below the API's address. */
  path: "/completions" | "/chat/completions";
  body: Fields;
}

/**
 * A streamed answer.
 *
 * @throws WordloomError option-invalid with the name of an option, or the kind of input, that this server does not take
 */
export function requestBody(request: GenerateRequest, server: ServerKind, model: string): ServerRequest {
  const { input, sampling, maxNewTokens, stop } = request;
  const rest = Object.entries<unknown>({ ...request }).filter(([name]) => !SAID_ELSEWHERE.has(name));
  const isChat = input.kind === "chat";
  const body = {
    model,
    ...inputFields(input, server),
    max_tokens: maxNewTokens,
    ...(stop.length === 0 ? {} : { stop: [...stop] }),
    ...seedFields(request, server),
    ...endFields(request, server),
    ...merged(Object.entries<unknown>({ ...sampling }).map(([name, value]) => samplingFields(name, value, server))),
    ...merged(rest.map(([name, value]) => answerFields(name, value, server))),
    ...logprobFields(request, server),
    ...(server === "llama.cpp" ? { samplers: LLAMA_CPP_ORDER } : {}),
    stream: true,
    stream_options: { include_usage: true },
  };
  return { path: isChat ? "/chat/completions" : "/completions", body };
}

/** The order in which the samplers of a model on this device act; its own default applies the temperature last. */
const LLAMA_CPP_ORDER = ["penalties", "dry", "temperature", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc"];

function inputFields(input: TaggedInput, server: ServerKind): Fields {
  if (input.kind === "text") return { prompt: input.text };
  if (input.kind === "ids") return { prompt: idsFor(input.ids, server) };
  return chatFields(input, server);
}

const CHAT_FIELDS: ReadonlySet<string> = new Set([
  ...["kind", "messages", "tools", "templateOptions", "continueFinalMessage"],
]);

/** Of a chat prompt; also where it is only counted. */
export function chatFields(input: ChatInput, server: ServerKind): Fields {
  const { messages, tools, templateOptions, continueFinalMessage } = input;
  for (const [name, value] of Object.entries(input)) {
    if (!CHAT_FIELDS.has(name) && !isUnset(value)) throw refused(name, server);
  }
  const readsTemplate = server === "vllm" || server === "llama.cpp";
  if (templateOptions !== undefined && !readsTemplate) throw refused("templateOptions", server);
  if (continueFinalMessage && !readsTemplate) throw refused("continueFinalMessage", server);
  return {
    messages: messages.map(asOpenai),
    ...(tools?.length ? { tools: tools.map((tool) => ({ type: "function", function: tool })) } : {}),
    ...(templateOptions === undefined ? {} : { chat_template_kwargs: templateOptions }),
    // llama.cpp's server does it by itself where the last message is the assistant's.
    ...(continueFinalMessage && server === "vllm"
      ? { continue_final_message: true, add_generation_prompt: false }
      : {}),
  };
}

/** OpenAI's API has the arguments of a call as JSON text; templates have them as they are. */
function asOpenai(message: ChatMessage): ChatMessage {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  const withText = (call: unknown) => {
    if (!isRecord(call) || !isRecord(call["function"])) return call;
    const { arguments: args, ...rest } = call["function"];
    const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
    return { type: "function", ...call, function: { ...rest, arguments: text } };
  };
  return { ...message, tool_calls: (calls as readonly unknown[]).map(withText) };
}

/** @throws WordloomError option-invalid where prompts are strings only */
export function idsFor(ids: Uint32Array, server: ServerKind): number[] {
  if (server === "vllm" || server === "llama.cpp") return Array.from(ids);
  throw new WordloomError("option-invalid", `${NAMES[server]} does not take token ids as input`, {
    remedy: "Pass a string, or chat messages.",
  });
}

function samplingFields(name: string, value: unknown, server: ServerKind): Fields {
  const found = SAMPLING[name];
  if (!found) throw new WordloomError("internal", `nothing is known of the setting ${name} on servers`);
  return fieldsOf(name, found, value, server);
}

function answerFields(name: string, value: unknown, server: ServerKind): Fields {
  const found = ANSWER[name];
  if (found) return fieldsOf(name, found, value, server);
  if (!isUnset(value)) throw refused(name, server);
  return {};
}

function fieldsOf(
  name: string,
  { isNeutral, belongsTo, words }: Row<never>,
  value: unknown,
  server: ServerKind,
): Fields {
  const own = value as never; // `name`'s value, for which the row was made
  const inWords = words[server];
  const neutral = isNeutral(own);
  if (!inWords && neutral) return {};
  if (!inWords) throw refused(name === "logitBias" ? "logitBias or bannedTokens" : (belongsTo ?? name), server);
  if (neutral && !SAYS_EVERYTHING.has(server)) return {};
  const fields = inWords(own);
  if (!fields) throw refused(`this value of ${name}`, server);
  return fields;
}

/** Which tokens end the answer. vLLM can leave its own out and take others; the model's own are not known here. */
function endFields({ ignoreEos, stopTokenIds, endTokenIds }: GenerateRequest, server: ServerKind): Fields {
  if (server === "vllm") {
    const ids = [...stopTokenIds, ...(endTokenIds ?? [])];
    return { ignore_eos: ignoreEos || endTokenIds !== undefined, ...(ids.length === 0 ? {} : { stop_token_ids: ids }) };
  }
  if (stopTokenIds.length > 0) throw refused("stopTokenIds", server);
  if (endTokenIds !== undefined) throw refused("endTokenIds", server);
  if (server === "llama.cpp") return { ignore_eos: ignoreEos };
  if (ignoreEos) throw refused("ignoreEos", server);
  return {};
}

/** A greedy answer needs no seed; else it is always sent, so that the one reported at the end is the one that was used. */
function seedFields({ seed, sampling }: GenerateRequest, server: ServerKind): Fields {
  if (sampling.temperature === 0) return {};
  if (seed > MAX_SEED && (server === "llama.cpp" || server === "ollama")) {
    throw new WordloomError("option-invalid", `seed is ${seed}; ${NAMES[server]} takes 0 to ${MAX_SEED}`);
  }
  return { seed };
}

/**
 * vLLM and llama.cpp's server are always asked for the log-probability of each token: only with it do they tell the
 * tokens. Others are asked when somebody wants them: not each of their models can.
 */
function logprobFields({ sampling, input }: GenerateRequest, server: ServerKind): Fields {
  const { topLogprobs: top } = sampling;
  if (server === "ollama" || (server === "openai" && top === 0)) return {};
  if (server === "llama.cpp" && input.kind === "chat" && input.tools?.length) {
    if (top > 0) throw refused("topLogprobs beside tools", server);
    return {}; // it refuses both together
  }
  const count = server === "llama.cpp" ? Math.max(1, top) : top; // for it, 0 means none at all
  const ids = server === "vllm" ? { return_token_ids: true } : {};
  return input.kind === "chat" ? { logprobs: true, top_logprobs: count, ...ids } : { logprobs: count, ...ids };
}

/** -100 is OpenAI's word for a ban; what is beyond -100 and 100 would be cut there without a word. */
function openaiBias(bias: ReadonlyMap<number, number>): Fields | undefined {
  const values = Array.from(bias, ([id, value]) => [id, value === -Infinity ? -100 : value] as const);
  if (values.some(([, value]) => value < -100 || value > 100)) return undefined;
  return { logit_bias: Object.fromEntries(values) };
}

function merged(fields: readonly Fields[]): Fields {
  return Object.fromEntries(fields.flatMap((one) => Object.entries(one)));
}

function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return (value instanceof Map || value instanceof Set) && value.size === 0;
}

function refused(name: string, server: ServerKind): WordloomError {
  return new WordloomError("option-invalid", `${NAMES[server]} does not take ${name}`, {
    remedy: `Remove it, or choose a server that does; docs: README, “A server instead of the device”.`,
  });
}

/** For what this kind of server has no endpoint. */
export function noEndpoint(what: string, server: ServerKind): WordloomError {
  return new WordloomError("option-invalid", `${NAMES[server]} does not ${what}`, {
    remedy: "Choose a server that does; docs: README, “A server instead of the device”.",
  });
}
