/**
 * A conversation's history, without a model: what was said, in turns. A turn begins with a message that answers no call
 * of a tool; the tools' answers, and what the model said to them, belong to it.
 */
import type { ChatMessage } from "../tokenizer/tokenizer";

/** What was sent at once, and the answer; "system" and the like that stand before the first turn are in `History.head`. */
export interface Exchange {
  sent: readonly ChatMessage[];
  /** Undefined at the end of a history that was given and ends without one. */
  answer: ChatMessage | undefined;
  /** Ids of everything up to here, the answer's as they were sampled; empty where they are not known. */
  tokens: Uint32Array;
  /** Of these, tokens after the sinks that the model no longer saw when the answer ended. */
  unseen: number;
}

export interface History {
  /** Never dropped. */
  head: readonly ChatMessage[];
  exchanges: readonly Exchange[];
}

export const NO_TOKENS = new Uint32Array(0);

export function messagesOf({ head, exchanges }: History): ChatMessage[] {
  return [...head, ...exchanges.flatMap(({ sent, answer }) => (answer ? [...sent, answer] : sent))];
}

/** Where each turn begins among the exchanges. */
export function turnStarts({ exchanges }: Pick<History, "exchanges">): number[] {
  return exchanges.flatMap((exchange, at) => (beginsTurn(exchange.sent) || at === 0 ? [at] : []));
}

export function beginsTurn(sent: readonly ChatMessage[]): boolean {
  return sent[0]?.role !== "tool";
}

/** Without its last `count` turns; no more than there are. */
export function withoutLastTurns(history: History, count: number): History {
  const end = count === 0 ? history.exchanges.length : turnStarts(history).at(-count);
  return { ...history, exchanges: history.exchanges.slice(0, end) };
}

/** Without its oldest turn. Ids that were known of what followed are of no more use. */
export function withoutOldestTurn(history: History): History {
  const exchanges = history.exchanges.slice(turnStarts(history)[1] ?? history.exchanges.length);
  return { ...history, exchanges: exchanges.map((one) => ({ ...one, tokens: NO_TOKENS, unseen: 0 })) };
}

/** With one more exchange. Ids that earlier ones have in common with it are held once. */
export function withExchange(history: History, exchange: Exchange): History {
  const shares = ({ tokens }: Exchange) =>
    tokens.length <= exchange.tokens.length && tokens.every((id, at) => id === exchange.tokens[at]);
  const last = history.exchanges.at(-1);
  const common = last && shares(last) ? last.tokens.buffer : undefined;
  const exchanges = history.exchanges.map((one) =>
    one.tokens.length > 0 && one.tokens.buffer === common
      ? { ...one, tokens: exchange.tokens.subarray(0, one.tokens.length) }
      : one,
  );
  return { ...history, exchanges: [...exchanges, exchange] };
}

/**
 * Messages as a history. What stands before the first message of a user (of "system" or "developer", mostly) is the
 * head; each run of messages up to an assistant's is an exchange.
 */
export function historyOf(messages: readonly ChatMessage[]): History {
  const firstTurn = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const head = firstTurn < 0 ? messages : messages.slice(0, firstTurn);
  const exchanges: Exchange[] = [];
  let sent: ChatMessage[] = [];
  for (const message of messages.slice(head.length)) {
    if (message.role !== "assistant") sent.push(message);
    else {
      exchanges.push({ sent, answer: message, tokens: NO_TOKENS, unseen: 0 });
      sent = [];
    }
  }
  if (sent.length > 0) exchanges.push({ sent, answer: undefined, tokens: NO_TOKENS, unseen: 0 });
  return { head, exchanges };
}
