/** Jinja's filters and tests, with Python's values: `{{ value | name(…) }}`, `value is name`. */
import { argumentsOf, capitalize, methodOf, replaceText, strip, titleWords, type Arguments } from "./template-methods";
import {
  compare,
  equals,
  Callable,
  Float,
  isTrue,
  itemsOf,
  joinTexts,
  Namespace,
  numberOf,
  print,
  spendSearch,
  spendText,
  Tuple,
  typeName,
  writeJson,
  type Spend,
  type Value,
} from "./template-values";

type Filter = (value: Value, args: Arguments, spend: Spend, all: readonly Value[]) => Value;

/** @throws Error with the filter's name where there is none of that name */
export function applyFilter(
  name: string,
  value: Value,
  args: readonly Value[],
  named: ReadonlyMap<string, Value>,
  spend: Spend,
): Value {
  const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (filter === undefined) throw new Error(`the filter ${name} is not supported`);
  return filter(value, argumentsOf(`the filter ${name}`, args, named), spend, args);
}

/** @throws Error with the test's name where there is none of that name */
export function applyTest(name: string, value: Value, other: Value, spend: Spend): boolean {
  const test = Object.hasOwn(TESTS, name) ? TESTS[name] : undefined;
  if (test === undefined) throw new Error(`the test ${name} is not supported`);
  return test(value, other, spend);
}

/** `needle in haystack` */
export function isIn(needle: Value, haystack: Value, spend: Spend): boolean {
  if (typeof haystack === "string") {
    if (typeof needle !== "string") throw new Error(`'in' a string wants a string, not ${typeName(needle)}`);
    spendSearch(haystack, needle, spend);
    return haystack.includes(needle);
  }
  return itemsOf(haystack).some((item) => equals(item, needle, spend));
}

export function lengthOf(value: Value): number {
  if (value instanceof Map) return value.size;
  return typeof value === "string" || Array.isArray(value) || value === undefined
    ? itemsOf(value).length
    : fail(`${typeName(value)} has no length`);
}

function fail(message: string): never {
  throw new Error(message);
}

/** `a.b.0` of an item, as the attribute filters look it up. */
function attribute(item: Value, path: Value): Value {
  if (typeof path !== "string" && typeof path !== "number") throw new Error(`an attribute is no ${typeName(path)}`);
  return String(path)
    .split(".")
    .reduce<Value>((value, name) => {
      if (value instanceof Map) return value.get(name);
      if (value instanceof Namespace) return value.attributes.get(name);
      return Array.isArray(value) && /^\d+$/.test(name) ? value[Number(name)] : undefined;
    }, item);
}

function pick(keeps: boolean): Filter {
  return (value, _, spend, all) => {
    const test = all[0];
    return itemsOf(value).filter((item) => {
      spend(1);
      return keeps === (typeof test === "string" ? applyTest(test, item, all[1], spend) : isTrue(item));
    });
  };
}

function pickByAttribute(keeps: boolean): Filter {
  return (value, args, spend, all) => {
    const name = args.textAt(0, "attribute");
    const test = all[1];
    return itemsOf(value).filter((item) => {
      spend(1);
      const found = attribute(item, name);
      return keeps === (typeof test === "string" ? applyTest(test, found, all[2], spend) : isTrue(found));
    });
  };
}

/** In order, letters of either case alike unless told otherwise. */
function sorted(
  items: Value[],
  keyOfItem: (item: Value) => Value,
  { caseSensitive, reverse, spend }: { caseSensitive: Value; reverse: Value; spend: Spend },
): Value[] {
  const sign = isTrue(reverse) ? -1 : 1;
  const keyed = items.map((item) => {
    const key = keyOfItem(item);
    if (typeof key !== "string" || isTrue(caseSensitive)) return { item, key };
    spendText(key.length, spend);
    return { item, key: key.toLowerCase() };
  });
  return keyed.sort((a, b) => sign * compare(a.key, b.key, spend)).map(({ item }) => item);
}

function extreme(sign: number): Filter {
  return (value, _, spend) =>
    itemsOf(value).reduce((best, item) => (sign * compare(item, best, spend) > 0 ? item : best));
}

function toInteger(value: Value, fallback: Value): Value {
  const number = numberOf(value);
  if (number !== undefined) return Math.trunc(number);
  if (typeof value !== "string" || !/^\s*[-+]?[\d_]*\.?\d+(e[-+]?\d+)?\s*$/i.test(value)) return fallback;
  return Math.trunc(Number(value.replaceAll("_", "")));
}

const filterList: Filter = (value) => Array.from(itemsOf(value));
const filterLength: Filter = (value) => lengthOf(value);
const filterDefault: Filter = (value, args) => {
  const isMissing = value === undefined || (isTrue(args.get(1, "boolean")) && !isTrue(value));
  const fallback = args.get(0, "default_value");
  if (!isMissing) return value;
  return fallback === undefined ? "" : fallback;
};

const FILTERS: Readonly<Record<string, Filter>> = {
  abs: (value) => {
    const number = Math.abs(numberOf(value) ?? fail(`abs of ${typeName(value)}`));
    return value instanceof Float ? new Float(number) : number;
  },
  capitalize: (value, _, spend) => capitalize(print(value, spend)),
  count: filterLength,
  d: filterDefault,
  default: filterDefault,
  dictsort(value, args, spend) {
    if (!(value instanceof Map)) throw new Error(`dictsort of ${typeName(value)}`);
    const place = args.get(1, "by") === "value" ? 1 : 0;
    const pairs = [...value].map((entry) => Tuple.holding(entry));
    const order = { caseSensitive: args.get(0, "case_sensitive"), reverse: args.get(2, "reverse"), spend };
    return sorted(pairs, (pair) => (pair as Tuple)[place], order);
  },
  first: (value) => itemsOf(value)[0],
  float(value, args) {
    const number = numberOf(value) ?? (typeof value === "string" && value.trim() !== "" ? Number(value) : NaN);
    return Number.isNaN(number) ? (args.get(0, "default") ?? new Float(0)) : new Float(number);
  },
  indent(value, args, spend) {
    const width = args.get(0, "width") ?? 4;
    const margin = marginOf(width);
    const [first, blank] = [isTrue(args.get(1, "first")), isTrue(args.get(2, "blank"))];
    const lines = print(value, spend).split("\n");
    const indented = lines.map((line, i) => ((i > 0 || first) && (line !== "" || blank) ? margin + line : line));
    return joinTexts(indented, "\n", spend);
  },
  int: (value, args) => toInteger(value, args.get(0, "default") ?? 0),
  items: (value) => (value instanceof Map ? [...value].map((entry) => Tuple.holding(entry)) : filterItemsOf(value)),
  join(value, args, spend) {
    const name = args.get(1, "attribute");
    const parts = itemsOf(value).map((item) => print(name === undefined ? item : attribute(item, name), spend));
    return joinTexts(parts, print(args.get(0, "d"), spend), spend);
  },
  last: (value) => itemsOf(value).at(-1),
  length: filterLength,
  list: filterList,
  lower: (value, _, spend) => print(value, spend).toLowerCase(),
  map(value, args, spend, all) {
    const name = args.get(Infinity, "attribute");
    if (name !== undefined) {
      return itemsOf(value).map((item) => attribute(item, name) ?? args.get(Infinity, "default"));
    }
    const filter = args.textAt(0, "filter");
    return itemsOf(value).map((item) => {
      spend(1);
      return applyFilter(filter, item, all.slice(1), new Map(), spend);
    });
  },
  max: extreme(1),
  min: extreme(-1),
  reject: pick(false),
  rejectattr: pickByAttribute(false),
  replace(value, args, spend) {
    const count = args.get(2, "count");
    const [old, replacement] = [args.textAt(0, "old"), args.textAt(1, "new")];
    return replaceText(print(value, spend), old, replacement, typeof count === "number" ? count : -1, spend);
  },
  reverse: (value) =>
    typeof value === "string" ? Array.from(value).reverse().join("") : Array.from(itemsOf(value)).reverse(),
  safe: (value) => value,
  select: pick(true),
  selectattr: pickByAttribute(true),
  sort(value, args, spend) {
    const name = args.get(2, "attribute");
    const key = (item: Value): Value => (name === undefined ? item : attribute(item, name));
    return sorted(itemsOf(value), key, {
      caseSensitive: args.get(1, "case_sensitive"),
      reverse: args.get(0, "reverse"),
      spend,
    });
  },
  string: (value, _, spend) => print(value, spend),
  sum(value, args) {
    const items = itemsOf(value);
    const total = items.reduce<number>(
      (sum, item) => sum + (numberOf(item) ?? fail(`sum of ${typeName(item)}`)),
      numberOf(args.get(1, "start")) ?? 0,
    );
    return items.some((item) => item instanceof Float) ? new Float(total) : total;
  },
  title: (value, _, spend) => titleWords(print(value, spend)),
  tojson(value, args, spend) {
    const width = args.get(1, "indent") ?? null;
    const indent = typeof width === "number" || typeof width === "string" ? marginOf(width) : null;
    const separators = args.get(2, "separators") ?? null;
    const [item, key] = separators === null ? [indent === null ? ", " : ",", ": "] : itemsOf(separators);
    if (typeof item !== "string" || typeof key !== "string") throw new Error("tojson wants two strings as separators");
    if (item.length + key.length > MAX_MARGIN) throw new Error("tojson with separators that are long texts");
    const [ensureAscii, sortKeys] = [isTrue(args.get(0, "ensure_ascii")), isTrue(args.get(3, "sort_keys"))];
    return writeJson(value, { ensureAscii, indent, itemSeparator: item, keySeparator: key, sortKeys }, spend);
  },
  trim: (value, args, spend) => strip(print(value, spend), args.get(0, "chars"), "both"),
  unique(value, _, spend) {
    const kept: Value[] = [];
    const fold = (item: Value): Value => (typeof item === "string" ? item.toLowerCase() : item);
    for (const item of itemsOf(value)) {
      if (!kept.some((other) => equals(fold(other), fold(item), spend))) kept.push(item);
    }
    return kept;
  },
  upper: (value, _, spend) => print(value, spend).toUpperCase(),
  wordcount: (value, _, spend) => lengthOf(methodOf(print(value, spend), "split", spend)?.call([], new Map())),
};

/** Blanks before a line: templates write 2 or 4. */
const MAX_MARGIN = 256;

function marginOf(width: Value): string {
  const length = typeof width === "string" ? width.length : (numberOf(width) ?? 0);
  if (!(length <= MAX_MARGIN)) throw new Error(`an indent of ${length}; ${MAX_MARGIN} is the most`);
  return typeof width === "string" ? width : " ".repeat(Math.max(0, length));
}

function filterItemsOf(value: Value): Value[] {
  if (value === undefined) return [];
  throw new Error(`items of ${typeName(value)}`);
}

type Test = (value: Value, other: Value, spend: Spend) => boolean;
const isWhole = (value: Value): value is number => typeof value === "number";
const remainder = (value: Value, by: number): number => {
  const number = numberOf(value) ?? fail(`${typeName(value)} has no remainder`);
  return ((number % by) + by) % by;
};
const equal: Test = (value, other, spend) => equals(value, other, spend);
const unequal: Test = (value, other, spend) => !equals(value, other, spend);
const less: Test = (value, other, spend) => compare(value, other, spend) < 0;
const more: Test = (value, other, spend) => compare(value, other, spend) > 0;
const atMost: Test = (value, other, spend) => compare(value, other, spend) <= 0;
const atLeast: Test = (value, other, spend) => compare(value, other, spend) >= 0;
const isText = (value: Value): value is string => typeof value === "string";

const TESTS: Readonly<Record<string, Test>> = {
  boolean: (value) => typeof value === "boolean",
  callable: (value) => value instanceof Callable,
  defined: (value) => value !== undefined,
  divisibleby: (value, other) => remainder(value, numberOf(other) ?? fail("divisibleby wants a number")) === 0,
  even: (value) => remainder(value, 2) === 0,
  false: (value) => value === false,
  float: (value) => value instanceof Float,
  in: (value, other, spend) => isIn(value, other, spend),
  integer: isWhole,
  iterable: (value) => isText(value) || Array.isArray(value) || value instanceof Map || value === undefined,
  lower: (value) => isText(value) && value === value.toLowerCase() && value !== value.toUpperCase(),
  mapping: (value) => value instanceof Map,
  none: (value) => value === null,
  number: (value) => numberOf(value) !== undefined,
  odd: (value) => remainder(value, 2) === 1,
  sameas: (value, other) => value === other,
  sequence: (value) => isText(value) || Array.isArray(value) || value instanceof Map || value === undefined,
  string: isText,
  true: (value) => value === true,
  undefined: (value) => value === undefined,
  upper: (value) => isText(value) && value === value.toUpperCase() && value !== value.toLowerCase(),
  ...{ eq: equal, equalto: equal, "==": equal, ne: unequal, "!=": unequal },
  ...{ lt: less, lessthan: less, "<": less, gt: more, greaterthan: more, ">": more },
  ...{ le: atMost, "<=": atMost, ge: atLeast, ">=": atLeast },
};
