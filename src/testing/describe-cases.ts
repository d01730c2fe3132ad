/**
 * Faults that users of comparable software reported (src/testing/cases), tried through the public API: the same tests on
 * any backend, in Node and in browsers.
 */
import { afterAll, describe, expect, test } from "vitest";
import type { Chunk, GenerateOptions, TextGenerator } from "../index";
import { caseOf } from "./cases/case-file";
import type { GoldenCase } from "./golden-case";
import { chain, scriptedCheckpoint } from "./scripted-checkpoint";

type Files = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

export interface CasesSetup {
  /** Loads these files on the backend that is tried. */
  load(files: Files): Promise<TextGenerator>;
  /** The golden llama: its files, and its cases. */
  llama: { files: Files; cases: readonly GoldenCase[] };
}

const SIZE = 32;
const SPECIAL = ["<|end|>", "<|go|>"];

interface StopOverlap {
  input: { runs: { pieces: string[]; prompt_ids: number[]; stop: string[] }[] };
  expected: { text: string[] };
}

interface SplitCharacters {
  input: { tokenizer_json: { model: { vocab: Record<string, number> } }; ids: number[]; cut_ids: number[] };
  expected: { after_each_id: { id: number; bytes_hex: string; text_so_far: string }[]; final: string };
}

interface RepetitionPenalty {
  input: { runs: { prompt_ids: number[]; repetitionPenalty?: number; logits_after_last: Record<string, number> }[] };
  expected: { ids: number[] };
}

async function answer(generator: TextGenerator, ids: readonly number[], options: GenerateOptions) {
  const run = generator.generate(ids, options);
  const chunks: Chunk[] = [];
  for await (const chunk of run) chunks.push(chunk);
  const tokens = chunks.flatMap((chunk) => chunk.tokens);
  return { run, chunks, tokens, ids: tokens.map(({ id }) => id), text: await run.text(), end: await run.end };
}

/** Call once at the top of a test file. */
export function describeCases({ load, llama }: CasesSetup): void {
  const generators: TextGenerator[] = [];
  const open = async (files: Files) => {
    const generator = await load(files);
    generators.push(generator);
    return generator;
  };
  afterAll(() => Promise.all(generators.map((generator) => generator.dispose())));

  const scripted = (pieces: readonly string[], table: (last: number, next: number) => number, size = SIZE) =>
    open(scriptedCheckpoint({ pieces, size, table }));

  describe("stop-overlap", () => {
    const { input, expected } = caseOf<StopOverlap["input"], StopOverlap["expected"]>("stop-overlap");
    const completionTokens = [3, 4, 3, 2, 3]; // the fourth ends by an end token, which is not counted here

    test.each(input.runs.map((run, at) => ({ ...run, at, text: expected.text[at] })))(
      "stop $stop after $pieces leaves $text",
      async ({ pieces, prompt_ids, stop, at, text }) => {
        const generator = await scripted(pieces, chain(pieces.length));
        const { chunks, text: whole, tokens, end } = await answer(generator, prompt_ids, { stop });
        expect(chunks.map((chunk) => chunk.text).join("")).toBe(text);
        expect(whole).toBe(text);
        expect(text?.startsWith(tokens.map((token) => token.text).join(""))).toBe(true);
        expect(end).toMatchObject({ finishReason: "stop", usage: { completionTokens: completionTokens[at] } });
      },
    );
  });

  describe("detok-split-char", () => {
    const { input, expected } = caseOf<SplitCharacters["input"], SplitCharacters["expected"]>("detok-split-char");
    const pieces = Object.keys(input.tokenizer_json.model.vocab); // in the order of their ids
    const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    /** After <|go|> these ids, then the end. */
    const script = (ids: readonly number[]) => {
      const follower = new Map([1, ...ids].map((id, at) => [id, ids[at] ?? 0]));
      return (last: number, next: number) => (next === (follower.get(last) ?? 0) ? 8 : -4);
    };

    test("what has been read is always a beginning of the final text, and never ahead of its bytes", async () => {
      const { chunks, tokens, text, end } = await answer(await scripted(pieces, script(input.ids)), [1], {});
      expect(tokens.map(({ id, bytes }) => ({ id, bytes_hex: hex(bytes) }))).toEqual(
        expected.after_each_id.map(({ id, bytes_hex }) => ({ id, bytes_hex })),
      );
      let soFar = "";
      let count = 0;
      for (const chunk of chunks) {
        soFar += chunk.text;
        count += chunk.tokens.length;
        expect(soFar).toBe(expected.after_each_id[count - 1]?.text_so_far);
      }
      expect(text).toBe(expected.final);
      expect(end.finishReason).toBe("stop");
    });

    test("a character that the limit cuts off is U+FFFD at the end, and its bytes are there", async () => {
      const generator = await scripted(pieces, script([2, 9, 10]));
      const { chunks, text, tokens, end } = await answer(generator, [1], { maxNewTokens: 3 });
      expect(chunks[0]?.text).toBe("A");
      expect(text).toMatch(/^A\ufffd+$/);
      expect(tokens.map(({ bytes }) => hex(bytes))).toEqual(["41", "f09f", "a6"]);
      expect(end.finishReason).toBe("length");
    });
  });

  describe("samp-topk-vocab", () => {
    const generator = scripted(SPECIAL, (last, next) => (last === 1 ? 0.05 * next : 0));
    const draw = async (seed: number, topK: number | null) => {
      // Null means "not set", as it does in JSON; the type does not invite it.
      const options = { temperature: 1, maxNewTokens: 1, ignoreEos: true, seed, topK: topK as number };
      return (await answer(await generator, [1], options)).ids[0];
    };
    const seeds = Array.from({ length: 50 }, (_, seed) => seed);

    test("topK at or above the vocabulary's size changes no draw", async () => {
      for (const seed of seeds) {
        const whole = await draw(seed, null);
        for (const topK of [32, 33, 1000, 4294967295, 0]) expect(await draw(seed, topK), `seed ${seed}`).toBe(whole);
      }
    });

    test("topK one less never takes the least likely, and 1 always the likeliest", async () => {
      for (const seed of seeds) {
        expect(await draw(seed, 31)).not.toBe(0);
        expect(await draw(seed, 1)).toBe(31);
      }
    });

    test("a negative topK is refused", async () => {
      await expect(draw(0, -1)).rejects.toMatchObject({ code: "option-invalid" });
    });
  });

  describe("samp-cold", () => {
    const logits = new Map([[2, 60], [3, 59.9], [4, -100]]); // prettier-ignore
    const generator = scripted(SPECIAL, (last, next) => (last === 1 ? (logits.get(next) ?? -4) : 0));

    test.each([0.001, 1e-6, 1e-20, 1e-38, 1e-45, 1e-300])(
      "temperature %d gives the likeliest for every seed",
      async (temperature) => {
        for (let seed = 0; seed < 20; seed++) {
          const options = { temperature, seed, maxNewTokens: 1, ignoreEos: true, topLogprobs: 2 };
          const { tokens } = await answer(await generator, [1], options);
          expect(tokens.map(({ id }) => id)).toEqual([2]);
          expect(tokens[0]?.logprob).toBeCloseTo(-0.644397, 3);
          expect(tokens[0]?.top?.[1]?.id).toBe(3);
          expect(tokens[0]?.top?.[1]?.logprob).toBeCloseTo(-0.744397, 3);
        }
      },
    );
  });

  describe("samp-reppen", () => {
    const { input, expected } = caseOf<RepetitionPenalty["input"], RepetitionPenalty["expected"]>("samp-reppen");
    test.each(input.runs.map((run, at) => ({ ...run, id: expected.ids[at] })))(
      "after $prompt_ids, logits $logits_after_last give $id",
      async ({ prompt_ids, repetitionPenalty = 1.5, logits_after_last, id }) => {
        const { other = 0 } = logits_after_last;
        const table = (last: number, next: number) =>
          last === prompt_ids.at(-1) ? (logits_after_last[next] ?? other) : 0;
        const options = { temperature: 0, repetitionPenalty, maxNewTokens: 1, ignoreEos: true };
        const { ids, tokens } = await answer(await scripted(SPECIAL, table), prompt_ids, options);
        expect(ids).toEqual([id]);
        const sum = Array.from({ length: SIZE }, (_, next) => Math.exp(logits_after_last[next] ?? other));
        const own = (logits_after_last[id ?? -1] ?? other) - Math.log(sum.reduce((a, b) => a + b));
        expect(tokens[0]?.logprob).toBeCloseTo(own, 4); // the model's, before the penalty
      },
    );
  });

  describe("cfg-eos-list", () => {
    const { ids: prompt, greedy_ids: greedy } = llama.cases[1] ?? { ids: [], greedy_ids: [] };
    const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
    const original = (name: string) => llama.files.get(name) ?? new Uint8Array();
    const edited = (name: string, changes: object) =>
      json({ ...JSON.parse(new TextDecoder().decode(original(name))), ...changes });
    /** The golden llama without a generation_config.json, and with these files in place of its own or beside them. */
    const folder = (changes: object) => {
      const names = ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"];
      return new Map<string, Uint8Array<ArrayBuffer>>([
        ...names.map((name) => [name, original(name)] as const),
        ...Object.entries(changes),
      ]);
    };
    const listed = { "generation_config.json": edited("generation_config.json", { eos_token_id: [0, 341] }) };
    const none = {
      "config.json": edited("config.json", { eos_token_id: null }),
      "generation_config.json": edited("generation_config.json", { eos_token_id: null }),
      "tokenizer_config.json": edited("tokenizer_config.json", { eos_token: "<|endoftext|>" }),
    };

    test.each([
      ["a list in generation_config.json ends it", listed, false, greedy.slice(0, 4), "stop"],
      [
        "a list in config.json ends it",
        { "config.json": edited("config.json", { eos_token_id: [0, 341] }) },
        false,
        greedy.slice(0, 4),
        "stop",
      ],
      ["null in both, and a name for the tokenizer, let it run on", none, false, greedy, "length"],
      [
        "an empty list lets it run on",
        { "generation_config.json": edited("generation_config.json", { eos_token_id: [] }) },
        false,
        greedy,
        "length",
      ],
      ["ignoreEos lets it run on", listed, true, greedy, "length"],
    ] as const)("%s", async (_, changes, ignoreEos, ids, finishReason) => {
      const result = await answer(await open(folder(changes)), prompt, { maxNewTokens: 24, ignoreEos });
      expect(result.ids).toEqual(ids);
      expect(result.end).toMatchObject({ finishReason, usage: { completionTokens: ids.length } });
    });
  });
}
