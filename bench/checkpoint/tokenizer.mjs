// A synthetic byte-level BPE of any vocabulary size: 3 special tokens, 256 bytes, then letter pairs,
// pair+letter and pair+pair merges in a fixed order. All token strings are distinct.
const SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
const LETTERS = "etaoinshrdlcumwfgypbvkjxqz";

function byteChars() {
  const keep = [];
  for (let b = 33; b <= 126; b++) keep.push(b);
  for (let b = 161; b <= 172; b++) keep.push(b);
  for (let b = 174; b <= 255; b++) keep.push(b);
  const map = new Array(256);
  for (const b of keep) map[b] = String.fromCharCode(b);
  let n = 0;
  for (let b = 0; b < 256; b++) if (map[b] === undefined) map[b] = String.fromCharCode(256 + n++);
  return map;
}

export function buildTokenizer(vocab) {
  const bytes = byteChars();
  const tokens = [...SPECIAL, ...bytes];
  const merges = [];
  const add = (a, b) => {
    if (tokens.length >= vocab) return false;
    tokens.push(a + b);
    merges.push([a, b]);
    return true;
  };
  const pairs = [];
  for (const a of LETTERS) for (const b of LETTERS) if (add(a, b)) pairs.push(a + b);
  for (const p of pairs) for (const c of LETTERS) if (!add(p, c)) break;
  for (const p of pairs) for (const q of pairs) if (!add(p, q)) break;
  if (tokens.length !== vocab) throw new Error(`tokenizer reached ${tokens.length} of ${vocab} tokens`);
  return { tokens, merges, nSpecial: SPECIAL.length, nBytes: 256 };
}

const printable = (b) => b >= 32 && b <= 126;
export function bannedIds() {
  const ids = SPECIAL.map((_, i) => i);
  for (let b = 0; b < 256; b++) if (!printable(b)) ids.push(SPECIAL.length + b);
  return ids;
}

// Text of a token id (specials decode to nothing; byte tokens outside ASCII are never generated).
export function tokenTexts(vocab) {
  const { tokens } = buildTokenizer(vocab);
  const inv = new Map(byteChars().map((c, b) => [c, b]));
  return tokens.map((t, i) => (i < SPECIAL.length ? "" : [...t].map((c) => String.fromCharCode(inv.get(c))).join("")));
}

export function hfTokenizerFiles(s) {
  const { tokens, merges } = buildTokenizer(s.vocab);
  const added = SPECIAL.map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
  return {
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        vocab: Object.fromEntries(tokens.map((t, i) => [t, i])),
        merges: merges.map(([a, b]) => `${a} ${b}`),
      },
    },
    "tokenizer_config.json": {
      add_prefix_space: false,
      bos_token: SPECIAL[0],
      eos_token: SPECIAL[0],
      unk_token: SPECIAL[0],
      clean_up_tokenization_spaces: false,
      model_max_length: s.maxPos,
      tokenizer_class: "GPT2Tokenizer",
      added_tokens_decoder: Object.fromEntries(added.map(({ id, ...rest }) => [id, rest])),
    },
  };
}
