import { describe, test } from "vitest";
import { at } from "../testing/at";
import { byteTokenizer } from "../testing/byte-tokenizer";
import { Beginning } from "../testing/grammar-prefixes";
import { seededRandom } from "../testing/random";
import { Constrainer } from "./constrain";
import type { Constraint } from "./constraint";
import { pruned, treeOf } from "./constraint-grammar";
import { ebnfOf } from "./expression";

const PIECES = [
  ...[
    "aa",
    "ab",
    "abc",
    "b}",
    '{"',
    '": ',
    ', "',
    '", "',
    '"}',
    "true",
    "null",
    "é",
    "éa",
    "日本",
    "😀",
    "12",
    "345",
    "0.5",
    "-1",
  ],
  ...[' "', "\n", '\\"', "\\\\", "name", '{"name": ', "[1", "], [", "]]", "2024-02-", "  "],
];
const tokenizer = byteTokenizer(PIECES);
const END = 0;
/** Rows beyond the tokenizer's ids, as padded heads have them. */
const VOCAB_SIZE = tokenizer.vocabSize + 37;

const constrainer = new Constrainer(tokenizer, VOCAB_SIZE);
const isAllowed = (words: Uint32Array, id: number) => ((at(words, id >>> 5) >>> (id & 31)) & 1) === 1;

const schema = (value: unknown): Constraint => ({ kind: "json-schema", schema: value });
const regex = (source: string): Constraint => ({ kind: "regex", source, flags: "u" });
type Read = Exclude<Constraint, { kind: "grammar" }>;

const CONSTRAINTS: readonly [name: string, constraint: Constraint][] = [
  ["choice", { kind: "choice", texts: ["aa", "ab", "abc", "é", "日", '"', "\\n", "\n"] }],
  ["one text", { kind: "choice", texts: ['{"name": true}'] }],
  ["regex: repeated", regex("a{2,3}(?:bc?)*")],
  ["regex: ambiguous", regex("(?:a|aa)*b(?:ab|a)?")],
  ["regex: class", regex("[^a\\d\\n]{1,3}")],
  ["regex: any", regex(".?é.{0,2}")],
  ["regex: ranges over byte borders", regex("[\\u007f-\\u0080\\u07ff-\\u0800\\uffff-\\u{10000}\\u{10ffff}]+")],
  ["regex: NUL and a letter", regex("\\0a[\\0-\\x1f]b")],
  ["string", schema({ type: "string" })],
  ["string of a length", schema({ type: "string", minLength: 2, maxLength: 4 })],
  ["string with a pattern", schema({ type: "string", pattern: '^["\\\\a]{1,3}\\n?$' })],
  ["integer", schema({ type: "integer", minimum: -12, maximum: 345 })],
  ["number", schema({ type: "number", minimum: -1.25, exclusiveMaximum: 12.5 })],
  ["enum", schema({ enum: ["a", "ab", 1, 12, null, [1, 2], { a: "é" }] })],
  ["date", schema({ type: "string", format: "date" })],
  [
    "object",
    schema({
      type: "object",
      properties: { name: { type: "string", maxLength: 3 }, a: { type: "boolean" }, b: { type: "null" } },
      required: ["a"],
    }),
  ],
  ["map beside properties", schema({ properties: { a: {}, ab: {} }, additionalProperties: { type: "null" } })],
  ["array", schema({ type: "array", items: { type: "integer", minimum: 0, maximum: 12 }, minItems: 1, maxItems: 3 })],
  ["tuple", schema({ prefixItems: [{ type: "null" }, { type: "boolean" }], items: { type: "null" }, maxItems: 3 })],
  ["nested arrays", schema({ $ref: "#/$defs/t", $defs: { t: { type: "array", items: { $ref: "#/$defs/t" } } } })],
  ["any JSON", schema(true)],
];

describe("the mask has exactly the tokens that keep the text a beginning", () => {
  test.each(CONSTRAINTS)("%s", async (name, constraint) => {
    const grammar = pruned(treeOf(constraint as Read));
    const random = seededRandom(name.length);
    for (let walk = 0; walk < 2; walk++) {
      const steps = await constrainer.start(constraint, [END]);
      let beginning = Beginning.of(grammar);
      for (let step = 0; step < 12 && !steps.isOver(); step++) {
        const words = steps.allowed() ?? new Uint32Array(0);
        const possible: [id: number, beginning: Beginning][] = [];
        for (let id = 0; id < VOCAB_SIZE; id++) {
          const bytes = id < tokenizer.vocabSize ? tokenizer.bytesOf(id, false) : new Uint8Array(0);
          const next = bytes.length > 0 ? beginning.after(bytes) : undefined;
          if (next) possible.push([id, next]);
          if (isAllowed(words, id) !== (id === END ? beginning.canEnd : next !== undefined)) {
            throw new Error(
              `step ${step}: token ${id}, bytes ${bytes.join(" ")}, in ${ebnfOf(grammar).slice(0, 1000)}`,
            );
          }
        }
        if (possible.length === 0) break;
        const long = possible.filter(([id]) => id > 256);
        const from = long.length > 0 && random() < 0.6 ? long : possible;
        const [id, next] = at(from, Math.floor(random() * from.length));
        steps.accept(id);
        beginning = next;
      }
      steps.dispose();
    }
  });
});
