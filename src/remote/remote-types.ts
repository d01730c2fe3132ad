/** What is known of a model that runs on somebody's server, and of the pieces it writes. */
import type { AnswerPart } from "../chat/answer-parts";
import type { EngineInfo } from "../engine/engine";

/** Whose words a server understands; "openai" is what all of them have in common. */
export type ServerKind = "openai" | "vllm" | "llama.cpp" | "ollama";

/** What only the server knows, and may not tell. */
type Untold =
  "dtype" | "kvDtype" | "kvShape" | "modelType" | "layerCount" | "contextLength" | "vocabSize" | "parameterCount";

/**
 * As `EngineInfo`, of a model on a server: what the server does not tell is undefined. On this device it takes nothing,
 * so `bytes` are 0, and nothing is stored.
 */
export interface RemoteInfo extends Omit<EngineInfo, Untold | "backend" | "tier"> {
  backend: "remote";
  tier: "remote";
  /** Address of the API, such as "https://example.com/v1"; everything that is to be continued is sent there. */
  endpoint: string;
  server: ServerKind;
  /** As the server calls it. */
  model: string;
  dtype: undefined;
  kvDtype: undefined;
  kvShape: undefined;
  modelType: undefined;
  layerCount: undefined;
  /** Positions: told by vLLM and llama.cpp. */
  contextLength: number | undefined;
  /** Told by llama.cpp, as are the parameters. */
  vocabSize: number | undefined;
  parameterCount: number | undefined;
}

export interface RemoteToken {
  /** Null where the server tells no id. */
  id: number | null;
  text: string;
  /** Null where the server gives none and the text is not whole characters. */
  bytes: Uint8Array | null;
  /** As the server defines it; vLLM and llama.cpp: the model's own, before any processor. */
  logprob: number;
  /** With `topLogprobs`: the likeliest tokens in its place, likeliest first. */
  top?: { id: number | null; text: string; logprob: number }[];
}

/** As a chunk of a model on this device. */
export interface RemoteChunk {
  /** 0: a server is asked for one answer. */
  index: number;
  /** Whole characters, to be appended to what came before. */
  text: string;
  /** Empty where the server gives no log-probabilities. */
  tokens: RemoteToken[];
  /**
   * In answers to chat messages. Reasoning and calls of tools, which a server takes out of the text, are here alone; a
   * call comes once it is whole.
   */
  parts?: AnswerPart[];
}
