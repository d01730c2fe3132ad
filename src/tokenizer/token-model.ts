/**
 * The `model` of tokenizer.json: word → ids. The merging (BPE), the lattice (Unigram) and the longest-first search
 * (WordPiece) are those of `@xenova/transformers`; the way from its pieces to ids is here, because there
 * pairs of pieces are told apart by a blank only, unknown pieces are fused across words, a missing byte piece becomes
 * "undefined", and characters outside the Basic Multilingual Plane are never found by Unigram.
 */
import { TokenizerModel } from "@xenova/transformers/src/tokenizers.js";
import { WordloomError } from "../errors";
import { count, flag, invalid, isCount, list, record, text, typeOf, unsupported, type JsonRecord } from "./json-fields";
import { MergeTable } from "./merge-table";
import { checkLattice, MAX_WORDPIECE_WORD } from "./tokenizer-limits";
import { WordCutter } from "./word-cutter";

export interface TokenModel {
  /** Pieces as they are spelled in the file → ids. */
  readonly vocab: ReadonlyMap<string, number>;
  /** The ids of one word (what the pre-tokenizer cut out; never empty). */
  encodeWord(word: string): number[];
}

/**
 * @param config `model` of tokenizer.json
 * @throws `tokenizer-unsupported` for a kind that is not computed exactly, `file-invalid` for a wrong shape
 */
export function createModel(config: unknown): TokenModel {
  const model = record(config, "model");
  // Files from before 2021 may lack the type; only BPE has merges.
  const type = model["type"] === undefined && "merges" in model ? "BPE" : typeOf(model, "model");
  switch (type) {
    case "BPE":
      return createBpe(model);
    case "Unigram":
      return createUnigram(model);
    case "WordPiece":
      return createWordPiece(model);
    default:
      throw unsupported(`the model ${type}`);
  }
}

/** A piece of a word in the package's merge queue. */
interface BpeNode {
  token: string;
  /** Place in the word, below 1: of equal merges the leftmost comes first. */
  bias: number;
  score?: number;
  next: BpeNode | null;
}

/** The members of the package's BPE that are replaced or called; its own types do not name them. */
interface BpeInternals extends TokenizerModel {
  cache: Map<string, string[]>;
  bpe(word: string): string[];
  /** Puts `node` into the queue if it merges with the next. */
  _add_node(queue: { push(node: BpeNode): void }, node: BpeNode): void;
}

function createBpe(model: JsonRecord): TokenModel {
  const vocab = readVocab(model["vocab"]);
  if (model["continuing_subword_prefix"]) throw unsupported("BPE with continuing_subword_prefix");
  if (model["dropout"]) throw unsupported("BPE with dropout, which makes its ids random,");
  const suffix = text(model["end_of_word_suffix"] ?? "", "model.end_of_word_suffix");
  const byteFallback = flag(model["byte_fallback"], "model.byte_fallback", false);
  const fuseUnknown = flag(model["fuse_unk"], "model.fuse_unk", false);
  const ignoreMerges = flag(model["ignore_merges"], "model.ignore_merges", false);
  const unknown = unknownId(model["unk_token"], vocab);
  if (suffix !== "" && unknown === undefined) throw unsupported("BPE with end_of_word_suffix and without unk_token");

  const bpe = TokenizerModel.fromConfig(
    { type: "BPE", vocab: {}, merges: [], end_of_word_suffix: suffix },
    {},
  ) as BpeInternals; // made by type "BPE"
  const merges = readMerges(model["merges"], vocab);
  bpe._add_node = (queue, node) => {
    const left = vocab.get(node.token);
    const right = node.next === null ? undefined : vocab.get(node.next.token);
    if (left === undefined || right === undefined) return;
    const rank = merges.rankOf(left, right);
    if (rank < 0) return;
    node.score = rank + node.bias;
    queue.push(node);
  };
  bpe.cache = new WordCache();
  let cutter: WordCutter | undefined;
  const piecesOf = (word: string): string[] => {
    if (word.length <= MAX_CACHED_LENGTH || suffix !== "") return bpe.bpe(word); // a suffix ends the whole word only
    cutter ??= new WordCutter(merges, piecesById(vocab)); // takes its time, and many models never need it
    return cutter.cut(word).flatMap((part) => bpe.bpe(part));
  };

  return {
    vocab,
    encodeWord(word) {
      if (ignoreMerges) {
        const whole = vocab.get(word);
        if (whole !== undefined) return [whole];
      }
      // Without an unknown token, characters outside the vocabulary vanish, and their neighbours may merge.
      const kept = unknown === undefined ? knownCharacters(word, vocab, byteFallback) : word;
      return toIds(piecesOf(kept), vocab, { byteFallback, fuseUnknown, unknown });
    },
  };
}

function knownCharacters(word: string, vocab: ReadonlyMap<string, number>, byteFallback: boolean): string {
  let known = "";
  for (const character of word) {
    if (vocab.has(character) || (byteFallback && byteIds(character, vocab) !== undefined)) known += character;
  }
  return known;
}

function readMerges(value: unknown, vocab: ReadonlyMap<string, number>): MergeTable {
  const merges = list(value, "model.merges");
  const table = new MergeTable(merges.length);
  // A loop without a closure or a place's spelling: there are up to 600,000 of them.
  for (let rank = 0; rank < merges.length; rank++) {
    const merge = merges[rank];
    let left: unknown;
    let right: unknown;
    // Written as "a b" until 2024, since then as ["a", "b"], so that pieces may hold blanks.
    if (typeof merge === "string") {
      const blank = merge.indexOf(" ");
      if (blank >= 0 && !merge.includes(" ", blank + 1))
        [left, right] = [merge.slice(0, blank), merge.slice(blank + 1)];
    } else if (Array.isArray(merge) && merge.length === 2) {
      [left, right] = merge as unknown[];
    }
    if (typeof left !== "string" || typeof right !== "string") {
      throw invalid(`model.merges[${rank}]`, "a pair of pieces");
    }
    const leftId = vocab.get(left);
    const rightId = vocab.get(right);
    if (leftId === undefined || rightId === undefined || !vocab.has(left + right)) {
      const pair = JSON.stringify([left, right]);
      throw invalid(`model.merges[${rank}]`, `a merge of pieces of the vocabulary, not of ${pair},`);
    }
    table.set(leftId, rightId, rank);
  }
  return table;
}

function piecesById(vocab: ReadonlyMap<string, number>): (string | undefined)[] {
  const pieces: (string | undefined)[] = [];
  for (const [piece, id] of vocab) pieces[id] = piece;
  return pieces;
}

const MAX_CACHED_LENGTH = 64;

/** The package caches every word for ever, and without a pre-tokenizer a word is the whole prompt. */
class WordCache extends Map<string, string[]> {
  override set(word: string, pieces: string[]): this {
    if (word.length > MAX_CACHED_LENGTH) return this;
    if (this.size >= 20_000) this.clear();
    return super.set(word, pieces);
  }
}

function createUnigram(model: JsonRecord): TokenModel {
  const vocab = new Map<string, number>();
  const entries = list(model["vocab"], "model.vocab").map((entry, id) => {
    const [piece, score] = list(entry, `model.vocab[${id}]`);
    if (typeof piece !== "string" || typeof score !== "number") throw invalid(`model.vocab[${id}]`, "[piece, score]");
    vocab.set(piece, id);
    return [piece, score] as const;
  });
  if (model["unk_id"] === undefined || model["unk_id"] === null) throw unsupported("Unigram without unk_id");
  const unknown = count(model["unk_id"], "model.unk_id");
  if (unknown >= entries.length) throw invalid("model.unk_id", `below ${entries.length}`);
  const byteFallback = flag(model["byte_fallback"], "model.byte_fallback", false);

  const unigram = TokenizerModel.fromConfig(
    { type: "Unigram", vocab: entries, unk_id: unknown },
    {},
  ) as TokenizerModel & {
    trie: PieceTrie; // made by type "Unigram"
  };
  const trie = new PieceTrie(vocab.keys());
  unigram.trie = trie;
  return {
    vocab,
    encodeWord: (word) => {
      // Unknown characters come one UTF-16 unit at a time; join them before they become bytes.
      const pieces: string[] = [];
      let wasKnown = true;
      trie.begin(word);
      for (const piece of unigram.encode([word])) {
        const known = vocab.has(piece) && vocab.get(piece) !== unknown;
        if (known || wasKnown) pieces.push(piece);
        else pieces.push((pieces.pop() ?? "") + piece);
        wasKnown = known;
      }
      return toIds(pieces, vocab, { byteFallback, fuseUnknown: true, unknown });
    },
  };
}

/** Pieces by UTF-16 unit. The package's own is filled by character and searched by unit. */
class PieceTrie {
  private readonly root = new Map<string, unknown>();
  private static readonly END = "";
  private found = 0;
  private characters = 0;

  constructor(pieces: Iterable<string>) {
    for (const piece of pieces) {
      let node = this.root;
      for (let i = 0; i < piece.length; i++) {
        let next = node.get(piece.charAt(i)) as Map<string, unknown> | undefined; // nodes of this trie
        if (next === undefined) node.set(piece.charAt(i), (next = new Map()));
        node = next;
      }
      if (piece !== "") node.set(PieceTrie.END, true);
    }
  }

  /** What is found from now on lies in `word`. */
  begin(word: string): void {
    this.found = 0;
    this.characters = word.length;
  }

  *commonPrefixSearch(source: string): Generator<string> {
    let node: Map<string, unknown> | undefined = this.root;
    for (let i = 0; i < source.length; i++) {
      node = node.get(source.charAt(i)) as Map<string, unknown> | undefined; // nodes of this trie
      if (node === undefined) return;
      if (!node.has(PieceTrie.END)) continue;
      checkLattice(++this.found, this.characters);
      yield source.slice(0, i + 1);
    }
  }
}

function createWordPiece(model: JsonRecord): TokenModel {
  const vocab = readVocab(model["vocab"]);
  const unknownPiece = text(model["unk_token"], "model.unk_token");
  const longest = count(model["max_input_chars_per_word"] ?? 100, "model.max_input_chars_per_word");
  if (longest > MAX_WORDPIECE_WORD) {
    throw unsupported(`WordPiece with max_input_chars_per_word ${longest} (at most ${MAX_WORDPIECE_WORD})`);
  }
  const unknown = unknownId(unknownPiece, vocab);
  const wordPiece = TokenizerModel.fromConfig(
    {
      type: "WordPiece",
      vocab: Object.fromEntries(vocab),
      unk_token: unknownPiece,
      continuing_subword_prefix: text(model["continuing_subword_prefix"] ?? "##", "model.continuing_subword_prefix"),
      max_input_chars_per_word: longest,
    },
    {},
  );
  return {
    vocab,
    encodeWord: (word) => toIds(wordPiece.encode([word]), vocab, { byteFallback: false, fuseUnknown: false, unknown }),
  };
}

function readVocab(value: unknown): Map<string, number> {
  const ids = record(value, "model.vocab");
  const vocab = new Map<string, number>();
  // Some vocabularies have 262,144 pieces: no pair is made of each, and the place is spelled out only for an error.
  for (const piece of Object.keys(ids)) {
    const id = ids[piece];
    vocab.set(piece, isCount(id) ? id : count(id, `model.vocab[${JSON.stringify(piece)}]`));
  }
  return vocab;
}

function unknownId(piece: unknown, vocab: ReadonlyMap<string, number>): number | undefined {
  if (piece === undefined || piece === null) return undefined;
  const id = vocab.get(text(piece, "model.unk_token"));
  if (id === undefined) {
    throw new WordloomError("file-invalid", `model.unk_token ${JSON.stringify(piece)} is not in the vocabulary`);
  }
  return id;
}

const utf8 = new TextEncoder();

/** Pieces of one word → ids; a piece outside the vocabulary becomes its bytes, else the unknown token, else nothing. */
function toIds(
  pieces: readonly string[],
  vocab: ReadonlyMap<string, number>,
  options: { byteFallback: boolean; fuseUnknown: boolean; unknown: number | undefined },
): number[] {
  const ids: number[] = [];
  let afterUnknown = false;
  for (const piece of pieces) {
    const id = vocab.get(piece);
    const bytes = id === undefined && options.byteFallback ? byteIds(piece, vocab) : undefined;
    if (id !== undefined) ids.push(id);
    else if (bytes !== undefined)
      for (const byte of bytes) ids.push(byte); // a piece may be the whole text
    else if (options.unknown !== undefined && !(afterUnknown && options.fuseUnknown)) ids.push(options.unknown);
    afterUnknown = id === undefined && bytes === undefined;
  }
  return ids;
}

/** `<0xE4>` and so on; undefined unless the vocabulary has them all. */
function byteIds(piece: string, vocab: ReadonlyMap<string, number>): number[] | undefined {
  const ids: number[] = [];
  for (const byte of utf8.encode(piece)) {
    const id = vocab.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    if (id === undefined) return undefined;
    ids.push(id);
  }
  return ids;
}
