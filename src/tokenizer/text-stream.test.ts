import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { caseOf } from "../testing/cases/case-file";
import { seededRandom } from "../testing/random";
import { scriptedCheckpoint } from "../testing/scripted-checkpoint";
import { createTokenizer } from "./load-tokenizer";
import { TextStream } from "./text-stream";
import type { Tokenizer } from "./tokenizer";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** Whole numbers from 0 to below `limit`, the same on every run. */
function numbers(seed: number): (limit: number) => number {
  const random = seededRandom(seed);
  return (limit) => Math.floor(random() * limit);
}

function tokenizerOf(tokenizerJson: unknown): Tokenizer {
  return createTokenizer({ tokenizerJson, tokenizerConfig: undefined });
}

/** A ByteLevel tokenizer with exactly these pieces, ids 0 and 1 special. */
function withPieces(pieces: readonly string[]): Tokenizer {
  const files = scriptedCheckpoint({ pieces, size: Math.max(32, pieces.length), table: () => 0 });
  return tokenizerOf(JSON.parse(new TextDecoder().decode(files.get("tokenizer.json"))));
}

/** Pushes ids until a stop string is complete; what came out, and how many ids were pushed and kept. */
function streamed(tokenizer: Pick<Tokenizer, "bytesOf">, ids: readonly number[], stop: readonly string[] = []) {
  const stream = new TextStream(tokenizer, stop);
  let text = "";
  for (const [i, id] of ids.entries()) {
    const { text: released, stopped } = stream.push(id);
    text += released;
    if (stopped !== undefined) {
      return { text: text + stream.flush(), pushed: i + 1, kept: stopped.keptTokens };
    }
  }
  return { text: text + stream.flush(), pushed: ids.length, kept: undefined };
}

describe("characters split over tokens", () => {
  const { input, expected } = caseOf<
    { tokenizer_json: unknown; ids: number[]; cut_ids: number[] },
    { after_each_id: { id: number; bytes_hex: string; text_so_far: string }[]; final: string }
  >("detok-split-char");

  test("come out whole, once, with the token that completes them", () => {
    const stream = new TextStream(tokenizerOf(input.tokenizer_json), []);
    let text = "";
    for (const { id, bytes_hex, text_so_far } of expected.after_each_id) {
      const pushed = stream.push(id);
      text += pushed.text;
      expect(text).toBe(text_so_far);
      expect(pushed.token.text).toBe(pushed.text);
      expect(hex(pushed.token.bytes)).toBe(bytes_hex);
    }
    expect(text + stream.flush()).toBe(expected.final);
  });

  test("are one U+FFFD where the answer ends inside one, and nothing before", () => {
    const stream = new TextStream(tokenizerOf(input.tokenizer_json), []);
    const pushed = input.cut_ids.map((id) => stream.push(id));
    expect(pushed.map(({ text }) => text)).toEqual(["A", "", ""]);
    expect(pushed.map(({ token }) => hex(token.bytes))).toEqual(["41", "f09f", "a6"]);
    expect(stream.flush()).toBe("\ufffd");
    expect(stream.flush()).toBe("");
  });

  test("are U+FFFD as soon as they can no longer become whole", () => {
    const tokenizer = withPieces(["<|end|>", "<|go|>", "ðŁ", "a", "ÿ"]);
    const stream = new TextStream(tokenizer, []);
    expect([2, 3, 4, 2].map((id) => stream.push(id).text)).toEqual(["", "\ufffda", "\ufffd", ""]);
  });

  test("may have special tokens between their bytes", () => {
    expect(streamed(withPieces(["<|end|>", "<|go|>", "Ã", "©"]), [2, 1, 3]).text).toBe("é");
  });
});

describe("stop strings", () => {
  const { input, expected } = caseOf<
    { runs: { pieces: string[]; prompt_ids: number[]; stop: string[] }[] },
    { text: string[]; finishReason: string[]; completionTokens: (number | string)[] }
  >("stop-overlap");
  const runs = input.runs.map((run, i) => ({
    ...run,
    text: expected.text[i] ?? "",
    count: expected.completionTokens[i],
  }));

  test.each(runs)("stop $stop: the answer is $text", ({ pieces, prompt_ids, stop, text, count }) => {
    const ids = pieces.map((_, id) => id).slice(Math.max(...prompt_ids) + 1);
    const result = streamed(withPieces(pieces), ids, stop);
    expect(result.text).toBe(text);
    if (typeof count === "number") expect(result.pushed).toBe(count);
    else expect(result.kept).toBeUndefined(); // this run ends with the end token
  });

  test.each(runs)("stop $stop gives the same answer however its bytes are cut into tokens", (run) => {
    const ids = run.pieces.map((_, id) => id).slice(Math.max(...run.prompt_ids) + 1);
    const tokenizer = withPieces(run.pieces);
    const bytes = Uint8Array.from(ids.flatMap((id) => [...tokenizer.bytesOf(id, false)]));
    // Each bit says whether a token ends there; of the longest answer every 37th way is tried.
    for (let cuts = 0; cuts < 2 ** (bytes.length - 1); cuts += bytes.length > 14 ? 37 : 1) {
      const ends = Array.from(bytes, (_, i) => i + 1).filter((end) => end === bytes.length || (cuts >> (end - 1)) & 1);
      const tokens = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
      const cut = { bytesOf: (id: number) => tokens[id] ?? new Uint8Array(0) };
      const { text } = streamed(cut, [...tokens.keys()], run.stop);
      if (text !== run.text) expect(text, `tokens end at ${ends.join()}`).toBe(run.text);
    }
  });

  test.each([
    ["at a token's border", ["ab", "cd", "EN", "D"], ["END"], { text: "abcd", kept: 2 }],
    ["inside a token, whose text before it is released", ["ab", "cdEN", "D"], ["END"], { text: "abcd", kept: 1 }],
    ["inside one token", ["xENDy"], ["END"], { text: "x", kept: 0 }],
    ["made of the bytes of a split character", ["caf", "Ã", "©"], ["é"], { text: "caf", kept: 1 }],
    ["after a split character", ["Ã", "©", "s"], ["s"], { text: "é", kept: 2 }],
    ["after a token that ends inside a character before it", ["aÃ", "©s"], ["s"], { text: "aé", kept: 1 }],
    ["of which two end together: the longer", ["xab", "c"], ["bc", "abc"], { text: "x", kept: 0 }],
    ["of which two overlap: the one complete first", ["abcd"], ["abcd", "bc"], { text: "a", kept: 0 }],
    ["after a false start", ["aa", "a", "ab"], ["aab"], { text: "aa", kept: 1 }],
    ["of a character outside the Basic Multilingual Plane", ["ðŁ", "ĺĢ"], ["😀"], { text: "", kept: 0 }],
  ])("a stop string %s", (_, pieces, stop, result) => {
    const vocab = ["<|end|>", "<|go|>", ...pieces];
    expect(
      streamed(
        withPieces(vocab),
        pieces.map((_piece, i) => i + 2),
        stop,
      ),
    ).toMatchObject(result);
  });

  test("what may still become a stop string is held, and released when it cannot", () => {
    const stream = new TextStream(withPieces(["<|end|>", "<|go|>", "a<", "|im", "_x", "<|"]), ["<|im_end|>"]);
    expect([2, 3, 4, 5].map((id) => stream.push(id).text)).toEqual(["a", "", "<|im_x", ""]);
    expect(stream.flush()).toBe("<|");
  });

  test("a stop string that only the last U+FFFD completes is not emitted", () => {
    expect(streamed(withPieces(["<|end|>", "<|go|>", "a", "Ã"]), [2, 3], ["a\ufffd"]).text).toBe("");
  });

  test.each([[""], ["\ud83d"]])("the stop string %j is refused", (stop) => {
    expect(() => new TextStream(withPieces(["<|end|>", "<|go|>"]), ["x", stop])).toThrow(
      expect.objectContaining({ code: "option-invalid" }) as Error,
    );
  });

  test("nothing may be pushed after a stop string", () => {
    const stream = new TextStream(withPieces(["<|end|>", "<|go|>", "a"]), ["a"]);
    expect(stream.push(2).stopped).toEqual({ keptTokens: 0 });
    expect(() => stream.push(2)).toThrow("pushed after a stop string");
    expect(stream.flush()).toBe("");
  });

  test("random streams never show a stop string, and keep the tokens before it", () => {
    const next = numbers(5);
    const vocab = ["<|end|>", "<|go|>", "a", "b", "ab", "ba", "aab", "Ã", "©", "é", "Ã©a"];
    const tokenizer = withPieces(vocab);
    const alphabet = ["a", "b", "é"];
    for (let round = 0; round < 1000; round++) {
      const word = () => Array.from({ length: 1 + next(5) }, () => alphabet[next(3)] ?? "").join("");
      const stop = Array.from({ length: 1 + next(3) }, word);
      const ids = Array.from({ length: 1 + next(12) }, () => 1 + next(vocab.length - 1));
      const whole = tokenizer.decode(ids);
      // By definition: the smallest end of any occurrence; of those that end there, the longest.
      let end = Infinity;
      for (const string of stop) {
        const at = whole.indexOf(string);
        if (at >= 0) end = Math.min(end, at + string.length);
      }
      const start = end - Math.max(...stop.filter((s) => whole.slice(0, end).endsWith(s)).map((s) => s.length), 0);
      const result = streamed(tokenizer, ids, stop);
      const label = JSON.stringify({ stop, ids, whole });
      if (end === Infinity) expect(result, label).toEqual({ text: whole, pushed: ids.length, kept: undefined });
      else {
        expect(result.text, label).toBe(whole.slice(0, start));
        // Exact where all bytes are valid: the tokens whose bytes end before the stop string's first.
        if (!whole.includes("\ufffd")) {
          let left = Buffer.byteLength(whole.slice(0, start));
          const over = ids.findIndex((id) => (left -= tokenizer.bytesOf(id, false).length) < 0);
          expect(result.kept, label).toBe(over);
        }
      }
    }
  });
});

describe("streaming is decoding", () => {
  const spm = caseOf<{ tokenizer_json: unknown }, unknown>("tok-spm-space").input.tokenizer_json;
  const bundled = JSON.parse(
    readFileSync(new URL("../../public/models/wordloom-stories/tokenizer.json", import.meta.url), "utf8"),
  ) as unknown;

  test.each([
    ["ByteLevel (the bundled model)", bundled],
    ["SentencePiece (Llama 2)", spm],
  ])("1000 random sequences of ids, %s", (_, json) => {
    const tokenizer = tokenizerOf(json);
    const next = numbers(11);
    for (let round = 0; round < 1000; round++) {
      // Half of the sequences from the first ids, where the single bytes are.
      const limit = round % 2 === 0 ? tokenizer.vocabSize : 260;
      const ids = Array.from({ length: next(40) }, () => next(limit));
      const stream = new TextStream(tokenizer, []);
      const bytes: number[] = [];
      let text = "";
      for (const id of ids) {
        const pushed = stream.push(id);
        text += pushed.text;
        bytes.push(...pushed.token.bytes);
      }
      text += stream.flush();
      expect(text).toBe(tokenizer.decode(ids));
      expect(text).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes)));
    }
  });

  test("the bundled tokenizer brings generated Unicode text back", () => {
    const tokenizer = tokenizerOf(bundled);
    const next = numbers(3);
    const ranges = [
      [0x00, 0x7f],
      [0x80, 0x24f],
      [0x300, 0x36f],
      [0x400, 0x4ff],
      [0x2000, 0x206f],
      [0x3040, 0x30ff],
      [0x4e00, 0x4eff],
      [0xac00, 0xacff],
      [0xfdd0, 0xffff],
      [0x1f300, 0x1f6ff],
      [0x10fff0, 0x10ffff],
    ] as const;
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: next(30) }, () => {
        const [from, to] = ranges[next(ranges.length)] ?? [0, 0];
        return String.fromCodePoint(from + next(to - from + 1));
      }).join("");
      const ids = tokenizer.encode(text, { addSpecialTokens: true });
      expect(ids[0]).toBe(0);
      expect(tokenizer.decode(ids), JSON.stringify(text)).toBe(text);
      expect(streamed(tokenizer, [...ids]).text).toBe(text);
    }
  });

  test("the first blank is dropped at the start of a text only", () => {
    const tokenizer = tokenizerOf(spm);
    expect(streamed(tokenizer, [1, 262, 262]).text).toBe("a a");
    const continued = new TextStream(tokenizer, [], { continues: true });
    expect(continued.push(262).text).toBe(" a");
  });

  test("a token costs the same after 200,000 others", () => {
    const tokenizer = withPieces(["<|end|>", "<|go|>", "a", "b"]);
    const stream = new TextStream(tokenizer, ["aab", "c"]);
    const time = (count: number) => {
      const start = performance.now();
      for (let i = 0; i < count; i++) stream.push(2 + (i & 1));
      return performance.now() - start;
    };
    time(20_000); // until compiled
    const early = time(20_000);
    time(160_000);
    const late = time(20_000);
    expect(late).toBeLessThan(10 * early + 20); // 10 times as long a text; a copy of it for each token takes seconds
  });
});
