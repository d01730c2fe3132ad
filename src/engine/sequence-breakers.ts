/** Texts that no repetition reaches across (DRY), as ids of this vocabulary. */
import type { Tokenizer } from "../tokenizer/tokenizer";

/**
 * A text stands for all ids whose own text contains it, as in llama.cpp; where there are none, as for a control token
 * or a longer text, for the last of its own ids, as in text-generation-webui.
 */
export class SequenceBreakers {
  readonly #tokenizer: Tokenizer;
  /** Per text; looking for it reads the whole vocabulary. */
  readonly #known = new Map<string, readonly number[]>();
  #texts: readonly string[] | undefined;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  idsOf(texts: readonly string[]): ReadonlySet<number> {
    return new Set(texts.flatMap((text) => this.#idsOf(text)));
  }

  #idsOf(text: string): readonly number[] {
    let ids = this.#known.get(text);
    if (ids === undefined) this.#known.set(text, (ids = this.#find(text)));
    return ids;
  }

  #find(text: string): readonly number[] {
    this.#texts ??= Array.from({ length: this.#tokenizer.vocabSize }, (_, id) =>
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.#tokenizer.bytesOf(id, false)),
    );
    const containing = this.#texts.flatMap((piece, id) => (piece.includes(text) ? [id] : []));
    if (containing.length > 0) return containing;
    return Array.from(this.#tokenizer.encode(text, { addSpecialTokens: false }).slice(-1));
  }
}
