/** The methods of Python's strings, dicts and lists that chat templates call; those that change a value do not exist. */
import {
  Callable,
  equals,
  itemsOf,
  joinTexts,
  spendList,
  spendSearch,
  spendText,
  Tuple,
  typeName,
  type Dict,
  type Spend,
  type Value,
} from "./template-values";

/** Python's white space: Unicode's, and the four separators of ASCII; not U+FEFF, which JavaScript trims. */
const SEPARATORS = "\\x1c-\\x1e";
const SPACE = `\\p{White_Space}${SEPARATORS}\\x1f`;
const LEADING = new RegExp(`^[${SPACE}]+`, "u");
const TRAILING = new RegExp(`[${SPACE}]+$`, "u");
const WORDS = new RegExp(`[^${SPACE}]+`, "gu");
const LINE_END = new RegExp(`\\r\\n|[\\n\\v\\f\\r${SEPARATORS}\\x85\\u2028\\u2029]`, "u");

export interface Arguments {
  /** By place or by name; undefined where it is not given. */
  get(place: number, name: string): Value;
  textAt(place: number, name: string): string;
}

export function argumentsOf(what: string, args: readonly Value[], named: ReadonlyMap<string, Value>): Arguments {
  const get = (place: number, name: string): Value => (place < args.length ? args[place] : named.get(name));
  return {
    get,
    textAt(place, name) {
      const value = get(place, name);
      if (typeof value !== "string") throw new Error(`${what} wants a string, not ${typeName(value)}`);
      return value;
    },
  };
}

/** `value.name` where that is a method; undefined where it is not. */
export function methodOf(value: Value, name: string, spend: Spend): Callable | undefined {
  const bind = <T>(methods: Methods<T>, self: T): Callable | undefined => {
    const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (method === undefined) return undefined;
    return new Callable((args, named) => method(self, argumentsOf(`${name}()`, args, named), spend));
  };
  if (typeof value === "string") return bind(STRING, value);
  if (value instanceof Map) return bind(DICT, value);
  return Array.isArray(value) ? bind(LIST, value) : undefined;
}

type Methods<T> = Readonly<Record<string, (self: T, args: Arguments, spend: Spend) => Value>>;

const STRING: Methods<string> = {
  upper: (self) => self.toUpperCase(),
  lower: (self) => self.toLowerCase(),
  casefold: (self) => self.toLowerCase(),
  title: (self) => self.replace(/\p{L}+/gu, capitalize),
  capitalize,
  swapcase: (self) =>
    self.replace(/\p{L}/gu, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    ),
  strip: (self, args) => strip(self, args.get(0, "chars"), "both"),
  lstrip: (self, args) => strip(self, args.get(0, "chars"), "left"),
  rstrip: (self, args) => strip(self, args.get(0, "chars"), "right"),
  removeprefix(self, args) {
    const prefix = args.textAt(0, "prefix");
    return self.startsWith(prefix) ? self.slice(prefix.length) : self;
  },
  removesuffix(self, args) {
    const suffix = args.textAt(0, "suffix");
    return suffix !== "" && self.endsWith(suffix) ? self.slice(0, -suffix.length) : self;
  },
  startswith: (self, args) => anyOf(args.get(0, "prefix")).some((prefix) => self.startsWith(prefix)),
  endswith: (self, args) => anyOf(args.get(0, "suffix")).some((suffix) => self.endsWith(suffix)),
  split: (self, args, spend) => splitText(self, args, false, spend),
  rsplit: (self, args, spend) => splitText(self, args, true, spend),
  splitlines(self) {
    const lines = self.split(LINE_END);
    if (lines.at(-1) === "") lines.pop();
    return lines;
  },
  replace(self, args, spend) {
    const count = args.get(2, "count");
    const [old, replacement] = [args.textAt(0, "old"), args.textAt(1, "new")];
    return replaceText(self, old, replacement, typeof count === "number" ? count : -1, spend);
  },
  join(self, args, spend) {
    const texts = itemsOf(args.get(0, "iterable")).map((item) => {
      if (typeof item !== "string") throw new Error(`join() wants strings, not ${typeName(item)}`);
      return item;
    });
    return joinTexts(texts, self, spend);
  },
  find: (self, args, spend) => placeOf(self, self.indexOf(searched(self, args, spend))),
  rfind: (self, args, spend) => placeOf(self, self.lastIndexOf(searched(self, args, spend))),
  count(self, args, spend) {
    const part = searched(self, args, spend);
    return part === "" ? Array.from(self).length + 1 : self.split(part).length - 1;
  },
  isdigit: (self) => /^[\p{Nd}\u00b2\u00b3\u00b9\u2070-\u2089]+$/u.test(self),
  isalpha: (self) => /^\p{L}+$/u.test(self),
  isalnum: (self) => /^[\p{L}\p{N}]+$/u.test(self),
  isspace: (self) => self !== "" && self.replace(LEADING, "") === "",
  islower: (self) => self === self.toLowerCase() && self !== self.toUpperCase(),
  isupper: (self) => self === self.toUpperCase() && self !== self.toLowerCase(),
};

const DICT: Methods<Dict> = {
  get(self, args) {
    const found = self.get(keyOf(args.get(0, "key")));
    return found === undefined ? (args.get(1, "default") ?? null) : found;
  },
  items: (self) => [...self].map((entry) => Tuple.holding(entry)),
  keys: (self) => [...self.keys()],
  values: (self) => [...self.values()],
};

const LIST: Methods<Value[]> = {
  index(self, args, spend) {
    const at = self.findIndex((item) => equals(item, args.get(0, "value"), spend));
    if (at < 0) throw new Error("index() of a value that is not in the list");
    return at;
  },
  count: (self, args, spend) => self.filter((item) => equals(item, args.get(0, "value"), spend)).length,
};

export function keyOf(value: Value): string | number {
  if (typeof value === "string" || typeof value === "number") return value;
  throw new Error(`a ${typeName(value)} cannot be the key of a dict`);
}

export function capitalize(word: string): string {
  const [first = "", ...rest] = Array.from(word);
  return first.toUpperCase() + rest.join("").toLowerCase();
}

/** `chars`: which characters to take away; None or nothing: white space. */
export function strip(self: string, chars: Value, side: "left" | "right" | "both"): string {
  if (chars === undefined || chars === null) {
    const left = side === "right" ? self : self.replace(LEADING, "");
    if (side === "left") return left;
    // From the end, by hand: a pattern for trailing white space tries every run before it.
    let end = left.length;
    while (end > 0 && TRAILING.test(left.charAt(end - 1))) end -= 1;
    return left.slice(0, end);
  }
  if (typeof chars !== "string") throw new Error(`strip() wants a string, not ${typeName(chars)}`);
  const unwanted = new Set(Array.from(chars));
  const characters = Array.from(self);
  let from = 0;
  let to = characters.length;
  if (side !== "right") while (from < to && unwanted.has(characters[from] ?? "")) from += 1;
  if (side !== "left") while (to > from && unwanted.has(characters[to - 1] ?? "")) to -= 1;
  return characters.slice(from, to).join("");
}

function anyOf(value: Value): string[] {
  return (value instanceof Tuple ? Array.from(value) : [value]).map((item) => {
    if (typeof item !== "string") throw new Error(`a string or a tuple of strings is wanted, not ${typeName(item)}`);
    return item;
  });
}

function searched(self: string, args: Arguments, spend: Spend): string {
  const part = args.textAt(0, "sub");
  spendSearch(self, part, spend);
  return part;
}

function splitText(self: string, args: Arguments, fromRight: boolean, spend: Spend): string[] {
  const separator = args.get(0, "sep");
  const limit = args.get(1, "maxsplit");
  const most = typeof limit === "number" && limit >= 0 ? limit : Infinity;
  if (separator === undefined || separator === null) {
    const words = [...self.matchAll(WORDS)];
    if (words.length <= most + 1) return words.map(([word]) => word);
    if (fromRight) {
      const last = words[words.length - most - 1];
      const rest = self.slice(0, (last?.index ?? 0) + (last?.[0].length ?? 0)).replace(LEADING, "");
      return [rest, ...words.slice(words.length - most).map(([word]) => word)];
    }
    return [...words.slice(0, most).map(([word]) => word), strip(self.slice(words[most]?.index), null, "right")];
  }
  if (typeof separator !== "string" || separator === "") throw new Error("split() wants a string that is not empty");
  spendSearch(self, separator, spend);
  const parts = self.split(separator);
  spendList(parts.length, spend);
  if (parts.length <= most + 1) return parts;
  if (fromRight) return [parts.slice(0, parts.length - most).join(separator), ...parts.slice(parts.length - most)];
  return [...parts.slice(0, most), parts.slice(most).join(separator)];
}

/** `count`: how many at most; negative: all. */
export function replaceText(self: string, from: string, to: string, count: number, spend: Spend): string {
  if (from === "") {
    const characters = Array.from(self);
    spendText(self.length + (characters.length + 1) * to.length, spend);
    const before = characters.map((character, i) => (count < 0 || i < count ? to + character : character)).join("");
    return count < 0 || count > characters.length ? before + to : before;
  }
  spendSearch(self, from, spend);
  const parts = self.split(from);
  if (count < 0) return joinTexts(parts, to, spend);
  const head = joinTexts(parts.slice(0, count + 1), to, spend);
  return parts.length > count + 1 ? joinTexts([head, ...parts.slice(count + 1)], from, spend) : head;
}

/** A place in UTF-16 units → in code points. */
function placeOf(self: string, at: number): number {
  return at < 0 ? -1 : Array.from(self.slice(0, at)).length;
}

/** Jinja's `title`: as Python's, but an apostrophe does not begin a word. */
export function titleWords(text: string): string {
  return text.replace(/[^-\s({[<]+/gu, capitalize);
}
