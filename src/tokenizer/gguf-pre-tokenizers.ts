/**
 * What tokenizer.ggml.pre stands for: how a byte-level BPE cuts text into words, as parts of a tokenizer.json. Where the
 * model's own tokenizer.json normalizes (NFC), so it is here, though llama.cpp does not; nor are its simpler patterns
 * taken over (the test beside this file says where they differ).
 *
 * Source: the published tokenizer.json of the models named; llama.cpp, `src/llama-vocab.cpp`, for the names, and for
 * "default", which is its own.
 */

import { cased, cl100k, CONTRACTIONS, LLAMA_CPP_DEFAULT } from "./published-patterns";

export interface GgufPreTokenizer {
  normalizer: unknown;
  pre_tokenizer: unknown;
  /** Words that are pieces are taken whole, whatever the merges say. */
  ignoreMerges: boolean;
  /** Where tokenizer.ggml.add_bos_token is not said. */
  addBos: boolean;
}

const byteLevel = (use_regex: boolean) => ({
  type: "ByteLevel",
  add_prefix_space: false,
  trim_offsets: true,
  use_regex,
});
const split = (Regex: string) => ({ type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false });
const sequence = (...pretokenizers: unknown[]) => ({ type: "Sequence", pretokenizers });
/** Cut by this pattern, then spelled in bytes. */
const words = (pattern: string) => sequence(split(pattern), byteLevel(false));
const NFC = { type: "NFC" };

const of = (pre_tokenizer: unknown, further: Partial<GgufPreTokenizer> = {}): GgufPreTokenizer => ({
  normalizer: null,
  pre_tokenizer,
  ignoreMerges: false,
  addBos: false,
  ...further,
});

const GPT2 = of(byteLevel(true));
const GPT_NEOX = of(byteLevel(true), { normalizer: NFC });
const LLAMA3 = of(words(cl100k("\\p{N}{1,3}")), { ignoreMerges: true, addBos: true });
const QWEN2 = of(words(cl100k("\\p{N}")), { normalizer: NFC });
/** Digits one by one. */
const STARCODER = of(sequence({ type: "Digits", individual_digits: true }, byteLevel(true)));

export const GGUF_PRE_TOKENIZERS: Readonly<Record<string, GgufPreTokenizer>> = {
  default: of(sequence(...LLAMA_CPP_DEFAULT.map(split), byteLevel(false))),
  ...{ "gpt-2": GPT2, "phi-2": GPT2 },
  ...{ olmo: GPT_NEOX, mpt: GPT_NEOX },
  ...{ llama3: LLAMA3, "llama-v3": LLAMA3, "llama-bpe": LLAMA3, lfm2: LLAMA3 },
  // OLMo 2 among others.
  dbrx: of(words(cl100k("\\p{N}{1,3}"))),
  ...{ qwen2: QWEN2, stablelm2: QWEN2, "deepseek-r1-qwen": QWEN2 },
  // Granite among others.
  ...{ smollm: STARCODER, starcoder: STARCODER, refact: STARCODER, codeshell: STARCODER },
  tekken: of(words(cased("", "\\p{N}")), { ignoreMerges: true, addBos: true }),
  // Phi-4-mini among others.
  "gpt-4o": of(words(cased(`${CONTRACTIONS}?`, "\\p{N}{1,3}"))),
};
