/**
 * Texts that tokenizers stumble over, made from a seed: every Unicode category, runs of blanks and newlines, digits,
 * code, emoji with joiners, mixed scripts, combining marks, special tokens whole and in pieces, lone surrogates.
 */
import { seededRandom } from "../random";

const CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split(" ");

/** Of large blocks whose characters are all alike every 89th, of the others all: 35,000 code points. */
function codePointsByCategory(): string[][] {
  const patterns = CATEGORIES.map((name) => new RegExp(`^\\p{${name}}$`, "u"));
  const members = CATEGORIES.map((): string[] => []);
  const alike = [
    [0x3400, 0xa48f],
    [0xac00, 0xd7a3],
    [0xe000, 0xf8ff],
    [0x13000, 0x1ceff],
    [0x20000, 0x3ffff],
  ] as const;
  for (let point = 0; point <= 0x3ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    if (alike.some(([from, to]) => point >= from && point <= to) && point % 89 !== 0) continue;
    const character = String.fromCodePoint(point);
    members[patterns.findIndex((pattern) => pattern.test(character))]?.push(character);
  }
  return members;
}

/** Spelled as GPT-2, Llama 2, Llama 3, Qwen 3 and Gemma 3 list them; in each vocabulary most of them are plain text. */
const SPECIAL_TOKENS = [
  ...["<|endoftext|>", "<s>", "</s>", "<unk>", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>"],
  ...["<|end_header_id|>", "<|eot_id|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>"],
  ...["</tool_call>", "<|fim_prefix|>", "<|object_ref_start|>", "<bos>", "<eos>", "<pad>", "<start_of_turn>"],
  ...["<end_of_turn>", "<mask>", "<unused7>", "[multimodal]", "<table>", "</h1>", "<0x0A>"],
];

const SPACES = [" ", "\t", "\n", "\r\n", "\r", "\v", "\f", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u3000"];
const SPACES_LIKE = ["\u0085", "\ufeff", "\u200b", "\u2060", "\u180e", "\u001c", "\u0000", "▁", "▁▁", "Ġ", "Ċ"];
const WORDS = "the of Hello WORLD naïve iPhone don't I'LL we’ve 'S 'ſ it's e.g. U.S.A. a_b snake_case camelCase".split(
  " ",
);
const SCRIPTS =
  "日本語テスト Привет мир 한국어 العربية עברית हिन्दी ไทย ქართული ᏣᎳᎩ ελληνικά ΣΑΣ Straße İstanbul ﬁn Ａｂ".split(" ");
const DIGITS = "0 7 42 123 1234 12345 1234567890 3.14 1,000,000 1e-10 0xFF ½ ² Ⅷ ٣٤٥ १२३ 𝟙𝟚 １２３ 2026-11-30".split(
  " ",
);
const EMOJI = "😀 🦙 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 1️⃣ ❤️‍🔥 ☃ ☃︎ 👩🏾‍🚀 🧑‍🤝‍🧑 \u{1f3fb}".split(" ");
const CODE = [
  "if (x[i] == 0) {\n    return;\n}",
  "for(let i=0;i<10;++i)\t{a[i]+=1}",
  "def f(x):\n\treturn x**2  # note\n\n",
  '<div class="a">\n  <p>&amp;</p>\n</div>',
  "SELECT * FROM t WHERE a='b';--",
  "$\\frac{1}{2}\\,\\mathbb{R}$",
  "https://example.org/a?b=c&d=%20#e",
  "\\u00e9\\n\\t",
  "#!/bin/sh\r\necho \"$@\" | sed 's/a/b/g'\r\n",
  "```ts\nconst π = 3;\n```",
];
const PUNCTUATION = [
  "...",
  "!!!",
  "?!",
  "—",
  "“”",
  "¿",
  "()",
  "[]{}",
  "//",
  "/*",
  "*/",
  "->",
  "=>",
  "<|",
  "|>",
  "<",
  "@",
  "#",
];

/**
 * @param seed the same seed gives the same texts everywhere
 * @param count at least 1; the first text is empty
 * @returns texts that may hold lone surrogates
 */
export function generateTexts(seed: number, count: number): string[] {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T; // no list here is empty
  const oneOf = (list: readonly string[]): string => pick(list);
  const times = (limit: number, make: () => string): string => Array.from({ length: 1 + below(limit) }, make).join("");
  const categories = codePointsByCategory();
  const marks = categories[CATEGORIES.indexOf("Mn")] ?? [];

  const fragments: (() => string)[] = [
    () => {
      const members = pick(categories);
      return times(6, () => oneOf(members));
    },
    () => times(5, () => oneOf(pick(categories))),
    () => " ".repeat(1 + below(below(4) === 0 ? 40 : 4)),
    () => "\n".repeat(1 + below(below(4) === 0 ? 40 : 4)),
    () => oneOf(SPACES).repeat(1 + below(6)),
    () => times(6, () => oneOf(SPACES)),
    () => times(3, () => oneOf(SPACES_LIKE)),
    () => oneOf(WORDS),
    () => ` ${oneOf(WORDS)}`,
    () => ` ${oneOf(SCRIPTS)}`,
    () =>
      times(3, () =>
        Array.from(oneOf(SCRIPTS))
          .slice(0, 1 + below(4))
          .join(""),
      ),
    () => oneOf(DIGITS),
    () => times(12, () => String(below(10))),
    () => oneOf(EMOJI),
    () => times(3, () => oneOf(EMOJI)),
    () => oneOf(CODE),
    () => oneOf(PUNCTUATION),
    () => oneOf(["a", "e", "o", "Z", "日", "ก", "क", " "]) + times(4, () => oneOf(marks)),
    () => String.fromCodePoint(0xac00 + below(11172)).normalize("NFD"),
    () => oneOf(SPECIAL_TOKENS),
    () => {
      const token = oneOf(SPECIAL_TOKENS);
      return below(2) === 0 ? token.slice(0, -1) : ` ${token} ${token}`;
    },
    () => oneOf(WORDS).repeat(1 + below(5)),
  ];
  const loneSurrogate = (): string => String.fromCharCode(0xd800 + below(0x800));

  return Array.from({ length: count }, (_, i) => {
    if (i === 0) return "";
    const text = times(i % 50 === 0 ? 60 : 9, () => pick(fragments)());
    if (i % 20 !== 0) return text;
    const at = below(text.length + 1);
    return text.slice(0, at) + loneSurrogate() + text.slice(at);
  });
}
