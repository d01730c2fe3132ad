/**
 * What tokens may come next under a constraint. The one module that is loaded only when somebody asks for a constraint:
 * behind it lies xgrammar, which is WebAssembly.
 */
import type { CompiledGrammar, GrammarMatcher } from "@mlc-ai/web-xgrammar/lib/index.js";
import { WordloomError } from "../errors";
import type { Tokenizer } from "../tokenizer/tokenizer";
import type { Constraint } from "./constraint";
import { grammarOf } from "./constraint-grammar";
import { Utf8Masks, utf8After, type Utf8State } from "./utf8";
import { XgrammarInstance } from "./xgrammar";

/** Places of a grammar times tokens: compiling walks through the vocabulary at each place. Some seconds at most. */
const MAX_COMPILE_WORK = 2 ** 25;
const MAX_KEPT_GRAMMARS = 16;

/** What is used of a tokenizer. */
type Vocabulary = Pick<Tokenizer, "vocabSize" | "bytesOf" | "encode">;

/** One answer's way through its grammar. */
export interface TokenConstraint {
  /**
   * Ids that come next whatever the model would say, none where there is a choice; from then on they count as written.
   *
   * @param most of them
   */
  takeForced(most: number): readonly number[];
  /**
   * [ceil(V / 32)] bit i of word w for id 32 w + i: what may be chosen next. End tokens are among it just where the
   * grammar may end. Undefined: it has ended, and the model has no token to say so.
   *
   * @throws WordloomError constraint-failed where nothing may be chosen
   */
  allowed(): Uint32Array | undefined;
  /** @throws WordloomError constraint-failed for an id that may not come next */
  accept(id: number): void;
  /** Whether the grammar has ended, and nothing can follow. */
  isOver(): boolean;
  dispose(): void;
}

/** All answers of one model under constraints; grammars and the vocabulary are kept. */
export class Constrainer {
  readonly #tokenizer: Vocabulary;
  readonly #vocabSize: number;
  #compiler: Compiler | undefined;
  #opening: Promise<XgrammarInstance> | undefined;

  /** @param vocabSize rows of the model's head; those that have no token are never allowed */
  constructor(tokenizer: Vocabulary, vocabSize: number) {
    this.#tokenizer = tokenizer;
    this.#vocabSize = vocabSize;
  }

  /**
   * @param endTokenIds may be none
   * @throws WordloomError option-invalid for what is not understood or too large, wasm-refused
   */
  async start(constraint: Constraint, endTokenIds: readonly number[]): Promise<TokenConstraint> {
    const { ebnf, places } = grammarOf(constraint);
    const most = Math.floor(MAX_COMPILE_WORK / this.#vocabSize);
    if (places > most) {
      throw new WordloomError(
        "option-invalid",
        `the constraint has ${places} places for a character; with ${this.#vocabSize} tokens at most ${most} are compiled`,
        { remedy: "Give smaller bounds (maxLength, maxItems, {n,m}), or none: maxNewTokens is one, too." },
      );
    }
    const compiler = await this.#ready();
    const matcher = compiler.matcherOf(ebnf);
    return new MatcherConstraint(compiler, matcher, this.#tokenizer, endTokenIds);
  }

  async #ready(): Promise<Compiler> {
    if (this.#compiler && !this.#compiler.instance.isBroken) return this.#compiler;
    this.#opening ??= XgrammarInstance.open();
    try {
      const instance = await this.#opening;
      if (this.#compiler?.instance !== instance)
        this.#compiler = new Compiler(instance, this.#tokenizer, this.#vocabSize);
      return this.#compiler;
    } finally {
      this.#opening = undefined;
    }
  }
}

/** The vocabulary in one instance, and the grammars that were compiled for it. */
class Compiler {
  readonly #compiler;
  readonly #grammars = new Map<string, CompiledGrammar>();
  readonly utf8: Utf8Masks;

  constructor(
    readonly instance: XgrammarInstance,
    tokenizer: Vocabulary,
    readonly vocabSize: number,
  ) {
    const bytes = Array.from({ length: vocabSize + 1 }, (_, id) => bytesInside(tokenizer, id, vocabSize));
    this.utf8 = new Utf8Masks(bytes.slice(0, vocabSize));
    const made = instance.try((xgrammar) => {
      const vocabulary = xgrammar.vecStringFromJSArray(bytes);
      // One id more than the model has is the end: which of its tokens are ends may differ from answer to answer.
      const stops = xgrammar.vecIntFromJSArray([vocabSize]);
      const info = new xgrammar.TokenizerInfo(vocabulary, "RAW", vocabSize + 1, stops, false);
      vocabulary.delete();
      stops.delete();
      return new xgrammar.GrammarCompiler(info, 1, false);
    });
    if ("refusal" in made) throw failed(`xgrammar refuses this model's vocabulary: ${made.refusal}`, made.cause);
    this.#compiler = made.value;
  }

  /** @throws WordloomError option-invalid for EBNF that xgrammar does not read */
  matcherOf(ebnf: string): GrammarMatcher {
    const made = this.instance.try((xgrammar) => {
      const kept = this.#grammars.get(ebnf);
      const grammar = kept ?? this.#compile(xgrammar, ebnf);
      this.#grammars.delete(ebnf);
      this.#grammars.set(ebnf, grammar);
      const [oldest] = this.#grammars.keys();
      if (this.#grammars.size > MAX_KEPT_GRAMMARS && oldest !== undefined) {
        this.#grammars.get(oldest)?.delete();
        this.#grammars.delete(oldest);
      }
      return new xgrammar.GrammarMatcher(grammar, undefined, false, -1);
    });
    if ("value" in made) return made.value;
    throw new WordloomError("option-invalid", `xgrammar does not read this grammar: ${made.refusal}`, {
      cause: made.cause,
    });
  }

  #compile(xgrammar: XgrammarInstance["module"], ebnf: string): CompiledGrammar {
    const grammar = new xgrammar.Grammar.FromEBNF(ebnf, "root");
    try {
      return this.#compiler.CompileGrammar(grammar);
    } finally {
      grammar.delete();
    }
  }
}

/** Special tokens and rows without a token have no bytes; xgrammar never allows those. */
function bytesInside(tokenizer: Vocabulary, id: number, vocabSize: number): Uint8Array {
  return id >= Math.min(vocabSize, tokenizer.vocabSize) ? new Uint8Array(0) : tokenizer.bytesOf(id, false);
}

class MatcherConstraint implements TokenConstraint {
  readonly #compiler: Compiler;
  readonly #matcher: GrammarMatcher;
  readonly #tokenizer: Vocabulary;
  readonly #endTokenIds: readonly number[];
  /** Of the place where it stands; undefined: not asked for yet. */
  #mask: { words: Uint32Array; canEnd: boolean; count: number } | undefined;
  #hasEnded = false;
  #utf8: Utf8State = 0;
  #written = 0;

  constructor(compiler: Compiler, matcher: GrammarMatcher, tokenizer: Vocabulary, endTokenIds: readonly number[]) {
    this.#compiler = compiler;
    this.#matcher = matcher;
    this.#tokenizer = tokenizer;
    this.#endTokenIds = endTokenIds;
  }

  takeForced(most: number): readonly number[] {
    const found = this.#call((matcher) => matcher.FindJumpForwardString());
    const [whole = ""] = found.split("\ufffd"); // where it ends within a character
    if (whole === "") return [];
    const ids = this.#tokenizer.encode(whole, { addSpecialTokens: false });
    // The last one is left to the model: together with what follows it may be another.
    const forced = Array.from(ids.subarray(0, Math.min(most, ids.length - 1)));
    if (forced.length < 2) return []; // a step is no slower
    // A tokenizer that writes something in front, or spells one of its special tokens, is not followed.
    const misfit = forced.findIndex((id) => this.#endTokenIds.includes(id) || !this.#take(id));
    return misfit === -1 ? forced : forced.slice(0, misfit);
  }

  allowed(): Uint32Array | undefined {
    const { words, canEnd, count } = this.#current();
    if (count > 0 || (canEnd && this.#endTokenIds.length > 0)) return words;
    if (canEnd) return undefined;
    throw failed(`after ${this.#written} tokens no token of this model goes on as the constraint wants`);
  }

  accept(id: number): void {
    if (this.#endTokenIds.includes(id)) {
      this.#hasEnded = this.#current().canEnd;
      if (this.#hasEnded) return;
    } else if (this.#take(id)) return;
    throw failed(`token ${id} was chosen after ${this.#written} others, and the constraint does not allow it there`);
  }

  isOver(): boolean {
    if (this.#hasEnded) return true;
    const { canEnd, count } = this.#current();
    return canEnd && count === 0;
  }

  dispose(): void {
    this.#matcher.delete();
  }

  #take(id: number): boolean {
    const bytes = this.#tokenizer.bytesOf(id, false);
    const utf8 = utf8After(this.#utf8, bytes);
    if (bytes.length === 0 || utf8 === undefined) return false;
    const isTaken = this.#call((matcher) => matcher.AcceptToken(id, false));
    if (!isTaken) return false;
    this.#mask = undefined;
    this.#utf8 = utf8;
    this.#written++;
    return true;
  }

  #current(): { words: Uint32Array; canEnd: boolean; count: number } {
    return (this.#mask ??= this.#call((matcher) => {
      const { vocabSize, instance } = this.#compiler;
      const vector = matcher.GetNextTokenBitmask(vocabSize + 1);
      const bits = Uint32Array.from(instance.module.vecIntToView(vector));
      vector.delete();
      const valid = this.#compiler.utf8.after(this.#utf8);
      const words = bits.slice(0, Math.ceil(vocabSize / 32)).map((word, at) => word & (valid[at] ?? 0));
      const canEnd = has(bits, vocabSize);
      for (const id of this.#endTokenIds) set(words, id, false);
      const count = words.reduce((sum, word) => sum + bitsIn(word), 0);
      for (const id of this.#endTokenIds) set(words, id, canEnd);
      return { words, canEnd, count };
    }));
  }

  #call<T>(use: (matcher: GrammarMatcher) => T): T {
    const made = this.#compiler.instance.try(() => use(this.#matcher));
    if ("value" in made) return made.value;
    throw failed(`xgrammar failed after ${this.#written} tokens: ${made.refusal}`, made.cause);
  }
}

function failed(message: string, cause?: unknown): WordloomError {
  return new WordloomError("constraint-failed", message, { cause });
}

function has(words: Uint32Array, id: number): boolean {
  return (((words[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 1;
}

function set(words: Uint32Array, id: number, on: boolean): void {
  const bit = 1 << (id & 31);
  words[id >>> 5] = on ? (words[id >>> 5] ?? 0) | bit : (words[id >>> 5] ?? 0) & ~bit;
}

function bitsIn(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
