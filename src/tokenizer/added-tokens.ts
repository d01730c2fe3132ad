/**
 * Added tokens: spellings that are found in the text before anything else and become one id each.
 *
 * As the Hugging Face tokenizers do it: the leftmost match wins and among those the longest, whatever the order of the
 * list; tokens with `normalized` are looked for in the normalized text, in their own normalized spelling; `single_word`
 * drops a match that touches a letter; `lstrip` and `rstrip` take the white space beside it.
 */
import { count, flag, list, record, text, unsupported } from "./json-fields";
import type { Normalize } from "./normalizers";
import { checkSpelling, MAX_ADDED_TOKENS } from "./tokenizer-limits";

export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  readonly normalized: boolean;
  readonly singleWord: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
}

/** A stretch of text: an added token's id, or text still to be tokenized. */
export type Section = { readonly id: number } | { readonly text: string; readonly first: boolean };

export function readAddedTokens(value: unknown): AddedToken[] {
  if (value === undefined || value === null) return [];
  const entries = list(value, "added_tokens");
  if (entries.length > MAX_ADDED_TOKENS) {
    throw unsupported(`${entries.length} added tokens (at most ${MAX_ADDED_TOKENS} are read)`);
  }
  return entries.map((entry, i) => {
    const place = `added_tokens[${i}]`;
    const token = record(entry, place);
    const special = flag(token["special"], `${place}.special`, false);
    return {
      id: count(token["id"], `${place}.id`),
      content: checkSpelling(text(token["content"], `${place}.content`), "an added token"),
      special,
      normalized: flag(token["normalized"], `${place}.normalized`, !special),
      singleWord: flag(token["single_word"], `${place}.single_word`, false),
      lstrip: flag(token["lstrip"], `${place}.lstrip`, false),
      rstrip: flag(token["rstrip"], `${place}.rstrip`, false),
    };
  });
}

export class AddedTokenSplitter {
  private readonly raw: Trie;
  private readonly normalized: Trie;

  constructor(
    tokens: readonly AddedToken[],
    private readonly normalize: Normalize,
  ) {
    this.raw = new Trie(tokens.filter((token) => !token.normalized).map((token) => [token.content, token]));
    this.normalized = new Trie(
      tokens.filter((token) => token.normalized).map((token) => [normalize(token.content), token]),
    );
  }

  /**
   * The sections of `source`, their text normalized and without guards.
   *
   * @param guard a character that stands before spellings which must stay text (see message-guard.ts); it is removed
   */
  split(source: string, guard: string | undefined): Section[] {
    const sections: Section[] = [];
    for (const outer of matchIn(source, this.raw, guard, true)) {
      if ("id" in outer) {
        sections.push(outer);
        continue;
      }
      for (const inner of matchIn(this.normalize(outer.text), this.normalized, guard, outer.first)) {
        if ("id" in inner) sections.push(inner);
        else {
          const plain = guard === undefined ? inner.text : inner.text.replaceAll(guard, "");
          if (plain !== "") sections.push({ text: plain, first: inner.first });
        }
      }
    }
    return sections;
  }
}

const ENDS_WITH_WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;
const STARTS_WITH_WORD = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const STARTS_WITH_SPACE = /^\p{White_Space}+/u;
const IS_SPACE = /\p{White_Space}/u;

function matchIn(source: string, trie: Trie, guard: string | undefined, startsFirst: boolean): Section[] {
  const sections: Section[] = [];
  let done = 0; // end of the last section
  let at = 0;
  while (at < source.length) {
    const match = trie.longestAt(source, at);
    if (match === undefined || (guard !== undefined && source.charAt(at - 1) === guard)) {
      at += 1;
      continue;
    }
    let [start, end] = [at, at + match.length];
    at = end;
    const { token } = match;
    if (token.singleWord && touchesWord(source, start, end)) continue;
    if (token.lstrip) while (start > done && IS_SPACE.test(source.charAt(start - 1))) start -= 1;
    if (token.rstrip) end += STARTS_WITH_SPACE.exec(source.slice(end))?.[0].length ?? 0;
    if (done < start) sections.push({ text: source.slice(done, start), first: startsFirst && done === 0 });
    sections.push({ id: token.id });
    done = end;
    at = Math.max(at, end);
  }
  if (done < source.length) sections.push({ text: source.slice(done), first: startsFirst && done === 0 });
  return sections;
}

function touchesWord(source: string, start: number, end: number): boolean {
  return ENDS_WITH_WORD.test(source.slice(0, start).slice(-2)) || STARTS_WITH_WORD.test(source.slice(end, end + 2));
}

interface TrieNode {
  readonly next: Map<number, TrieNode>;
  token?: AddedToken;
}

/** Spellings by their UTF-16 units; of two equal ones the first listed stays. */
class Trie {
  private readonly root: TrieNode = { next: new Map() };

  constructor(spellings: Iterable<readonly [string, AddedToken]>) {
    for (const [spelling, token] of spellings) {
      if (spelling === "") continue;
      let node = this.root;
      for (let i = 0; i < spelling.length; i++) {
        const unit = spelling.charCodeAt(i);
        let next = node.next.get(unit);
        if (next === undefined) node.next.set(unit, (next = { next: new Map() }));
        node = next;
      }
      node.token ??= token;
    }
  }

  longestAt(source: string, start: number): { token: AddedToken; length: number } | undefined {
    let node: TrieNode | undefined = this.root;
    let longest: { token: AddedToken; length: number } | undefined;
    for (let at = start; at < source.length; at++) {
      node = node.next.get(source.charCodeAt(at));
      if (node === undefined) break;
      if (node.token !== undefined) longest = { token: node.token, length: at + 1 - start };
    }
    return longest;
  }
}
