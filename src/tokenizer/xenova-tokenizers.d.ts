/** What Wordloom uses of `@xenova/transformers` 2.17.2, whose own types lie beside another path. */
declare module "@xenova/transformers/src/tokenizers.js" {
  export class TokenizerModel {
    /** BPE, Unigram and WordPiece; `more` holds the `eos_token` that Unigram looks up. */
    static fromConfig(config: unknown, more: { eos_token?: string }): TokenizerModel;
    /** Pieces of each word; a piece outside the vocabulary stays as it is spelled (Unigram), or is `unk_token`. */
    encode(words: string[]): string[];
  }
}
