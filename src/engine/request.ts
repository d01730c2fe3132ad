/** What is asked of an engine, checked; all of it can be posted to a worker. */
import type { SamplingSettings } from "../backends/backend";
import type { Constraint } from "../structured/constraint";
import type { SpeculationSettings } from "./speculation";
import type { ChatMessage, ChatOptions } from "../tokenizer/tokenizer";

/** What to continue: text (as it is), ids (exactly these), messages (through the chat template). */
export type TaggedInput = { kind: "text"; text: string } | { kind: "ids"; ids: Uint32Array } | ChatInput;

export interface ChatInput extends ChatOptions {
  kind: "chat";
  messages: readonly ChatMessage[];
  /** An earlier prompt with its answer: where the new prompt's text begins alike, its ids stay. */
  known?: Uint32Array;
  /** The prompt itself, where the caller has it from `tokenize`: the messages are not rendered again. */
  ids?: Uint32Array;
}

/** Checked options of one answer; like everything in a request, they can be posted to a worker. */
export interface AnswerSettings {
  sampling: SamplingSettings;
  /** The seed that `sampling.seed` holds in halves. */
  seed: number;
  maxNewTokens: number;
  /** Answers, 1 or more; with several there is no constraint, no processor of logits and no slide. */
  n: number;
  /** From its turn on; undefined: as long as it takes. */
  maxTimeMs: number | undefined;
  /** None of them empty. */
  stop: readonly string[];
  /** Beside the model's end tokens, or beside `endTokenIds`. */
  stopTokenIds: readonly number[];
  /** In place of the model's own. */
  endTokenIds: readonly number[] | undefined;
  ignoreEos: boolean;
  /** Undefined: none. With one there are no stop strings, forced tokens or least number of tokens. */
  constraint?: Constraint | undefined;
  /** Texts; the engine makes `sampling.dryBreakers` of them. */
  drySequenceBreakers: readonly string[];
  reusePrefix: boolean;
  /** What goes on where the context is full, in place of the answer's end; see chat/sliding-window.ts. */
  slide?: { sinks: number } | undefined;
  /** Undefined: none. With it there is neither a constraint nor a processor of logits. */
  speculative?: SpeculationSettings | undefined;
}

export interface GenerateRequest extends AnswerSettings {
  input: TaggedInput;
}
