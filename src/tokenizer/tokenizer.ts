/** Text ↔ ids. One implementation over tokenizer.json; the interface is what engine and api use. */

export interface Tokenizer {
  /** One more than the highest id that has a text: the vocabulary with its added tokens. */
  readonly vocabSize: number;
  /**
   * Text → ids, as the Hugging Face tokenizers do it: added tokens spelled in the text become their ids.
   * `addSpecialTokens`: also those the tokenizer itself adds (e.g. `<s>` in front).
   */
  encode(text: string, options: { addSpecialTokens: boolean }): Uint32Array;
  /** All ids → text at once, special tokens not rendered. Equal to streaming the same ids through a TextStream. */
  decode(ids: ArrayLike<number>): string;
  /**
   * The exact bytes that `id` adds to the text; empty for special tokens and for ids without a text.
   * `isFirst`: no bytes-bearing token came before (some tokenizers drop the first blank there).
   */
  bytesOf(id: number, isFirst: boolean): Uint8Array;
  isSpecial(id: number): boolean;
  /**
   * The chat template rendered to ids, ready for the assistant's answer. What the messages contain stays ordinary text:
   * a control token spelled in a message does not become one. Rejects with `template-missing` or `template-failed`.
   */
  encodeChat(messages: readonly ChatMessage[]): Promise<Uint32Array>;
  readonly hasChatTemplate: boolean;
}

export interface ChatMessage {
  role: string;
  content: string | readonly { type: "text"; text: string }[];
  [key: string]: unknown;
}

export interface StreamedToken {
  id: number;
  /** The whole characters this token completes; may be "". */
  text: string;
  /** Exactly the bytes of this token. */
  bytes: Uint8Array;
}

/** What the stream has released: `text` may lag behind `token` while it may still become a stop string. */
export interface StreamedText {
  text: string;
  token: StreamedToken;
  /** A stop string is complete; `keptTokens` of the ids pushed so far lie wholly before it. */
  stopped: { keptTokens: number } | undefined;
}
