/** Conversations with a fake backend behind a real engine and tokenizer: ids depend on every token before them. */
import { Conversation, type ConversationHost } from "../api/conversation";
import { resolveConversationOptions, type ConversationOptions } from "../api/conversation-options";
import { resolveGenerateOptions } from "../api/generate-options";
import type { Chunk } from "../engine/answer-stream";
import { LocalEngine, type EngineInfo } from "../engine/engine";
import type { Tokenizer } from "../tokenizer/tokenizer";
import { FakeBackend, type FakeBackendOptions } from "./fake-backend";

export interface FakeConversations {
  backend: FakeBackend;
  engine: LocalEngine;
  host: ConversationHost<Chunk>;
  conversation: (options?: ConversationOptions) => Conversation<Chunk>;
}

export function fakeConversations(
  tokenizer: Tokenizer,
  endTokenIds: readonly number[],
  { fingerprint = "fake", ...options }: FakeBackendOptions & { fingerprint?: string } = {},
): FakeConversations {
  const backend = new FakeBackend({ takesTime: false, ...options });
  const { contextLength } = backend.facts;
  const engine = new LocalEngine({
    backend,
    tokenizer,
    endTokenIds,
    // All that is asked of it here.
    info: { contextLength, vocabSize: tokenizer.vocabSize, modelType: "fake", dtype: "f32" } as EngineInfo,
    fingerprint,
    scheduler: {},
  });
  const host: ConversationHost<Chunk> = {
    engine,
    check: (given) => ({
      settings: resolveGenerateOptions(given, tokenizer.vocabSize),
      process: undefined,
      holds: undefined,
    }),
  };
  const conversation = (given: ConversationOptions = {}) => {
    const { settings, history } = resolveConversationOptions(given, false);
    return new Conversation(host, settings, history);
  };
  return { backend, engine, host, conversation };
}
