/** Checks of options that name tokens or texts: ids within the vocabulary, strings that are not empty. */
import { WordloomError } from "../errors";
import { given, invalid } from "./option-checks";

/** Strings, or one; none of them empty. Left out: none. */
export function stringsOf(name: string, value: string | readonly string[] | null | undefined): readonly string[] {
  if (!given(value)) return [];
  const strings: readonly unknown[] = typeof value === "string" ? [value] : Array.isArray(value) ? value : [undefined];
  return strings.map((one) => {
    if (typeof one !== "string" || one === "") throw invalid(name, one ?? value, "a string, or strings, not empty");
    return one;
  });
}

/** Token ids in their order; undefined where the option is not set. */
export function idsOf(
  name: string,
  value: readonly number[] | Uint32Array | null | undefined,
  vocabSize: number,
): readonly number[] | undefined {
  if (!given(value)) return undefined;
  if (!Array.isArray(value) && !(value instanceof Uint32Array)) throw invalid(name, value, "a list of token ids");
  return Array.from(value as ArrayLike<unknown>, (id, at) => {
    if (!isTokenId(id, vocabSize)) throw invalid(`${name}[${at}]`, id, `a token id from 0 to ${vocabSize - 1}`);
    return id;
  });
}

/** Token id → what is added to its logit; the banned ones with -Infinity. */
export function resolveLogitBias(
  bias: Readonly<Record<number, number>> | ReadonlyMap<number, number> | null | undefined,
  bannedTokens: readonly number[],
  vocabSize: number,
): ReadonlyMap<number, number> {
  const resolved = new Map<number, number>();
  for (const [key, value] of entriesOf(bias)) {
    const id = typeof key === "string" && key.trim() !== "" ? Number(key) : key;
    if (!isTokenId(id, vocabSize)) throw invalid("logitBias", key, `keyed by token ids from 0 to ${vocabSize - 1}`);
    if (typeof value !== "number" || Number.isNaN(value) || value === Infinity) {
      throw invalid(`logitBias[${id}]`, value, "a finite number, or -Infinity to ban the token");
    }
    resolved.set(id, value);
  }
  for (const id of bannedTokens) {
    const other = resolved.get(id) ?? -Infinity;
    if (other !== -Infinity) throw conflict(`bannedTokens has ${id}, and logitBias adds ${other} to it`);
    resolved.set(id, -Infinity);
  }
  let banned = 0;
  for (const value of resolved.values()) if (value === -Infinity) banned++;
  if (banned >= vocabSize) {
    const names = bannedTokens.length > 0 ? "bannedTokens and logitBias ban" : "logitBias bans";
    throw conflict(`${names} all ${vocabSize} tokens; at least one must be left`);
  }
  return resolved;
}

/** Two options that cannot both be honoured. */
export function conflict(message: string): WordloomError {
  return new WordloomError("option-invalid", message);
}

function entriesOf(
  bias: Readonly<Record<number, number>> | ReadonlyMap<number, number> | null | undefined,
): Iterable<[unknown, unknown]> {
  if (!given(bias)) return [];
  if (typeof bias !== "object" || Array.isArray(bias)) {
    throw invalid("logitBias", bias, "an object or Map from token id to number");
  }
  return bias instanceof Map ? bias.entries() : Object.entries(bias);
}

function isTokenId(id: unknown, vocabSize: number): id is number {
  return typeof id === "number" && Number.isInteger(id) && id >= 0 && id < vocabSize;
}
