/** Text ↔ ids. One implementation over tokenizer.json; the interface is what engine and api use. */

export interface Tokenizer {
  /** Ids that text may have: the vocabulary with its added tokens. */
  readonly vocabSize: number;
  /** Text → ids; `addSpecialTokens`: those the tokenizer itself adds (e.g. `<s>` in front). Text never becomes control tokens by accident of being spelled like one only where the caller says so: see `parseSpecial`. */
  encode(text: string, options: { addSpecialTokens: boolean }): Uint32Array;
  /** All ids → text at once, special tokens not rendered. Equal to streaming the same ids through a TextStream. */
  decode(ids: ArrayLike<number>): string;
  /** The exact bytes that `id` adds to the text after `previous` ids (empty for special tokens). */
  bytesOf(id: number, isFirst: boolean): Uint8Array;
  isSpecial(id: number): boolean;
  /** The chat template rendered to ids; throws `template-missing` / `template-failed`. */
  encodeChat(messages: readonly ChatMessage[]): Uint32Array;
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

/** What the stream has released: `text` may lag behind `tokens` while it may still become a stop string. */
export interface StreamedText {
  text: string;
  token: StreamedToken;
  /** A stop string is complete; `keptTokens` of the ids pushed so far lie wholly before it. */
  stopped: { keptTokens: number } | undefined;
}
