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
   * a control token spelled in a message does not become one; nor one spelled in a tool or a template option.
   *
   * @throws `template-missing`, `template-failed`; `tools-unsupported` for tools that the template has no place for,
   *   `option-invalid` for a template option that it does not read or that is not free
   */
  encodeChat(messages: readonly ChatMessage[], options?: ChatOptions): Promise<Uint32Array>;
  readonly hasChatTemplate: boolean;
  readonly chatTemplate: string | undefined;
  /** Spelled in a text, each is one id; special ones give no text. */
  readonly addedTokens: readonly { readonly id: number; readonly content: string; readonly special: boolean }[];
}

/** What a chat prompt holds beside its messages. */
export interface ChatOptions {
  tools?: readonly ToolDefinition[];
  /** Further variables of the template, `enable_thinking` say; JSON. */
  templateOptions?: Readonly<Record<string, unknown>>;
  /** The last message is the beginning of the answer: the prompt ends with its last character. */
  continueFinalMessage?: boolean;
}

/** A function that the model may ask for. */
export interface ToolDefinition {
  name: string;
  description?: string;
  /** JSON schema of an object. */
  parameters?: Readonly<Record<string, unknown>>;
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
  /** The bytes so far end in the middle of a character, which a later token may complete. */
  endsInCharacter: boolean;
  /** A stop string is complete; `keptTokens` of the ids pushed so far lie wholly before it. */
  stopped: { keptTokens: number } | undefined;
}
