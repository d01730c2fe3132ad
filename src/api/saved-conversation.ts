/**
 * A saved conversation: a file of frames (storage/framed-file.ts). The first is JSON: settings, messages, ids, and whose
 * keys and values follow; the others are pieces of the KV cache, in the order of positions.
 */
import { seenTokens } from "../chat/sliding-window";
import { NO_TOKENS, type Exchange, type History } from "../chat/turns";
import type { CacheAccess, CacheOwner } from "../engine/cache-transfer";
import { WordloomError } from "../errors";
import { ConversationStore } from "../storage/conversation-store";
import { damaged, frameHead, magicBytes, readFrames } from "../storage/framed-file";
import { browserPlace } from "../storage/model-store";
import type { ChatMessage } from "../tokenizer/tokenizer";
import { checkedMessages, resolveConversationOptions, type ConversationSettings } from "./conversation-options";
import { checkIds } from "./model-input";
import { invalid } from "./option-checks";

/** The last character is the version. */
const KIND = { magic: "WLCONV_1", name: "saved conversation" };

export interface RestoreOptions {
  withoutCache?: boolean;
  signal?: AbortSignal;
}

export interface ConversationState {
  settings: ConversationSettings;
  history: History;
}

interface SavedHeader {
  settings: ConversationSettings;
  head: readonly ChatMessage[];
  exchanges: readonly SavedExchange[];
  /** Null where the model is on a server: no pieces follow. */
  owner: CacheOwner | null;
  /** That the pieces have together. */
  positions: number;
}

interface SavedExchange {
  sent: readonly ChatMessage[];
  answer: ChatMessage | null;
  unseen: number;
  /** Its ids: so many that the last exchange begins with, and then these. */
  common: number;
  tokens: readonly number[];
}

/**
 * The file, part by part. Only one piece of the cache is held.
 *
 * @param cache undefined: without pieces
 * @param contextLength positions that the cache can hold
 */
export async function* savedParts(
  { settings, history }: ConversationState,
  cache: CacheAccess | undefined,
  contextLength: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const last = history.exchanges.at(-1);
  // The last token of an answer need not have been run.
  const seen = cache ? seenOf(settings, last).subarray(0, contextLength) : NO_TOKENS;
  const header: SavedHeader = {
    settings,
    head: history.head,
    exchanges: history.exchanges.map((exchange) => savedExchange(exchange, last?.tokens ?? NO_TOKENS)),
    owner: (await cache?.owner()) ?? null,
    positions: seen.length,
  };
  yield magicBytes(KIND);
  const first = new TextEncoder().encode(JSON.stringify(header));
  yield frameHead(first);
  yield first;
  for (let at = 0; cache && at < seen.length;) {
    const piece = await cache.read(seen, at, signal);
    signal.throwIfAborted();
    if (!piece) throw new WordloomError("internal", "the cache gave nothing, though nobody stopped it");
    yield frameHead(piece.bytes);
    yield piece.bytes;
    at = piece.end;
  }
}

/** @throws WordloomError storage-failed, also where there is no storage */
export async function keepSaved(name: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
  const place = await browserPlace();
  if (typeof place === "string") {
    throw new WordloomError("storage-failed", `the conversation cannot be kept: ${place}`, { remedy: "Use toBlob()." });
  }
  await new ConversationStore(place).write(name, parts);
}

/** @param saved the name it is kept by in this browser's storage, or the file itself */
export async function savedFile(saved: unknown): Promise<Blob> {
  if (saved instanceof Blob) return saved;
  if (typeof saved !== "string") throw invalid("saved", saved, "a name or a Blob");
  const place = await browserPlace();
  const file = typeof place === "string" ? undefined : await new ConversationStore(place).read(saved);
  if (file) return file;
  throw new WordloomError("option-invalid", `no conversation is kept by the name "${saved}"`, {
    remedy: "Look at conversationStorage.list().",
  });
}

/**
 * Reads such a file, and puts its keys and values into the cache.
 *
 * @param cache undefined: what was computed is left aside, and so are the ids, which another model may spell otherwise
 * @throws WordloomError file-invalid for a damaged file; conversation-mismatch for another model's
 */
export async function readSaved(
  file: Blob,
  cache: CacheAccess | undefined,
  { contextLength, vocabSize }: { contextLength: number; vocabSize: number },
  signal: AbortSignal,
): Promise<ConversationState> {
  const frames = readFrames(file, KIND);
  const { value: first } = await frames.next();
  if (!first) throw damaged(KIND, "nothing follows its first 8 bytes");
  const header = headerOf(first);
  if (!cache) {
    const exchanges = header.exchanges.map((one) => ({ ...one, common: 0, tokens: [], unseen: 0 }));
    return stateOf({ ...header, exchanges }, vocabSize);
  }
  const owner = await cache.owner();
  if (header.owner && header.owner.id !== owner.id) {
    const message = `the conversation was saved with another model: ${header.owner.name}; this one is ${owner.name}`;
    throw new WordloomError("conversation-mismatch", message);
  }
  const state = stateOf(header, vocabSize);
  const seen = seenOf(state.settings, state.history.exchanges.at(-1));
  if (header.positions > seen.length) throw damaged(KIND, `${seen.length} ids for ${header.positions} positions`);
  let at = 0;
  let isWanted = true;
  for await (const bytes of frames) {
    signal.throwIfAborted();
    const end = at + bytes.length / owner.bytesPerPosition;
    if (!Number.isInteger(end) || end > header.positions) {
      throw damaged(KIND, `a piece of ${bytes.length} bytes, at position ${at} of ${header.positions}`);
    }
    // The rest is of no use once something else has been run, or where this context is shorter; it is checked all the same.
    isWanted &&= end <= contextLength;
    if (isWanted) isWanted = await cache.write(seen, { start: at, end, bytes }, signal);
    at = end;
  }
  if (at !== header.positions) throw damaged(KIND, `it ends at position ${at} of ${header.positions}`);
  signal.throwIfAborted();
  return state;
}

/** The first part alone, whatever follows. @throws WordloomError file-invalid */
export function readSavedHeader(bytes: Uint8Array, vocabSize: number): ConversationState {
  return stateOf(headerOf(bytes), vocabSize);
}

function seenOf({ sinks }: ConversationSettings, last: Exchange | undefined): Uint32Array {
  return last ? seenTokens(last.tokens, sinks, last.unseen) : NO_TOKENS;
}

function savedExchange({ sent, answer, tokens, unseen }: Exchange, last: Uint32Array): SavedExchange {
  let common = 0;
  while (common < Math.min(tokens.length, last.length) && tokens[common] === last[common]) common++;
  // The last one has nothing else to be like.
  if (tokens === last) common = 0;
  return { sent, answer: answer ?? null, unseen, common, tokens: [...tokens.subarray(common)] };
}

function headerOf(bytes: Uint8Array): SavedHeader {
  let header: Partial<SavedHeader>;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as SavedHeader; // looked at below
  } catch (cause) {
    throw damaged(KIND, `its header is no JSON (${String(cause)})`);
  }
  if (typeof header !== "object" || (header as unknown) === null) throw damaged(KIND, "its header is no object");
  const { settings, head, exchanges, owner, positions } = header;
  const isOurs =
    typeof settings === "object" &&
    Array.isArray(head) &&
    Array.isArray(exchanges) &&
    (owner === null || (typeof owner?.id === "string" && typeof owner.name === "string")) &&
    isCount(positions);
  if (!isOurs) throw damaged(KIND, "its header is not complete");
  return header as SavedHeader;
}

/** Nothing is believed: a file with right checksums may still have been made by somebody else. */
function stateOf({ settings, head, exchanges }: SavedHeader, vocabSize: number): ConversationState {
  try {
    const { chat, fullContext, sinks, keepAborted } = settings;
    const resolved = resolveConversationOptions(
      { ...chat, fullContext, keepAborted, ...(fullContext === "slide" ? { sinks } : {}) },
      false,
    );
    const last = idsOf(exchanges.at(-1), NO_TOKENS, vocabSize);
    return {
      settings: resolved.settings,
      history: {
        head: checkedMessages(head),
        exchanges: exchanges.map((exchange, at): Exchange => {
          const { sent, answer, unseen } = exchange;
          if (!isCount(unseen)) throw new RangeError(`exchange ${at} has ${String(unseen)} unseen tokens`);
          return {
            sent: checkedMessages(sent),
            answer: answer ? checkedMessages([answer])[0] : undefined,
            tokens: at === exchanges.length - 1 ? last : idsOf(exchange, last, vocabSize),
            unseen,
          };
        }),
      },
    };
  } catch (cause) {
    throw damaged(KIND, cause instanceof Error ? cause.message : String(cause));
  }
}

function idsOf(exchange: SavedExchange | undefined, last: Uint32Array, vocabSize: number): Uint32Array {
  if (!exchange) return NO_TOKENS;
  const { common, tokens } = exchange;
  if (!isCount(common) || common > last.length || !Array.isArray(tokens)) throw new RangeError("ids are missing");
  const own = tokens.length === 0 ? NO_TOKENS : checkIds(tokens, vocabSize);
  return own.length === 0 ? last.subarray(0, common) : Uint32Array.from([...last.subarray(0, common), ...own]);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
