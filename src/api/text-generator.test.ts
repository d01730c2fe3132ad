/** What api.md promises of TextGenerator, on the reference backend. Golden values: src/testing/golden/PROVENANCE.md. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { TextGenerator, type Chunk, type GenerateOptions } from "../index";
import { GOLDEN_MODELS, goldenCases, goldenFolder } from "../testing/golden-models";
import { modelFolder } from "../testing/model-folder";
import { chain, scriptedCheckpoint } from "../testing/scripted-checkpoint";

const REFERENCE = { backend: "reference" } as const;
const PIECES = ["<|end|>", "<|go|>", ..."abcdefghijklmnopqrst"];

const generators: TextGenerator[] = [];
const load = async (...[source, options]: Parameters<typeof TextGenerator.load>) => {
  const generator = await TextGenerator.load(source, { ...REFERENCE, ...options });
  generators.push(generator);
  return generator;
};
afterAll(() => Promise.all(generators.map((generator) => generator.dispose())));

const idsOf = (chunks: readonly Chunk[]) => chunks.flatMap(({ tokens }) => tokens.map(({ id }) => id));
async function readAll(run: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of run) chunks.push(chunk);
  return chunks;
}

/** A model that writes "abc…t" after <|go|>, and ends. */
const alphabet = scriptedCheckpoint({ pieces: PIECES, size: 32, table: chain(PIECES.length) });
let writer: TextGenerator;
let golden: TextGenerator;
beforeAll(async () => {
  writer = await load(modelFolder(alphabet));
  golden = await load(goldenFolder("llama"));
});

let unhandled = 0;
beforeEach(() => {
  unhandled = 0;
  const count = () => unhandled++;
  process.on("unhandledRejection", count);
  return () => process.off("unhandledRejection", count);
});
const later = () => new Promise((resolve) => setTimeout(resolve, 5));

describe.each(GOLDEN_MODELS)("the golden %s", (model) => {
  test("writes the golden ids and log-probabilities", async () => {
    const generator = await load(goldenFolder(model));
    for (const { ids, greedy_ids, logprobs_f64 } of goldenCases(model)) {
      const chunks = await readAll(generator.generate(ids, { maxNewTokens: 24, ignoreEos: true, topLogprobs: 1 }));
      expect(idsOf(chunks)).toEqual(greedy_ids);
      const first = chunks[0]?.tokens[0];
      expect(first?.logprob).toBeCloseTo(logprobs_f64[first?.id ?? -1] ?? NaN, 4);
      expect(first?.top?.[0]).toMatchObject({ id: first?.id, logprob: first?.logprob });
    }
  });
});

describe("the input", () => {
  test("a string is continued as it is, and gives what its ids give", async () => {
    expect(await writer.generate("abc").text()).toBe("defghijklmnopqrst");
    const ids = await writer.tokenize("abc");
    expect(ids).toEqual([2, 3, 4]);
    expect(await writer.generate(ids).text()).toBe("defghijklmnopqrst");
    expect(await writer.generate(Uint32Array.from(ids)).text()).toBe("defghijklmnopqrst");
  });

  test("messages go through the chat template", async () => {
    const template = "{% for m in messages %}{{ m.content }}{% endfor %}c";
    const chat = await load(
      modelFolder(new Map([...alphabet, ["chat_template.jinja", new TextEncoder().encode(template)]])),
    );
    const run = chat.generate([{ role: "user", content: "b" }, { role: "user", content: "a" }]); // prettier-ignore
    expect(await run.text()).toBe("defghijklmnopqrst");
    expect((await run.end).usage.promptTokens).toBe(3);
  });

  test("messages without a template are refused", async () => {
    await expect(writer.generate([{ role: "user", content: "a" }]).text()).rejects.toMatchObject({
      code: "template-missing",
    });
  });

  test("a text without tokens is refused", async () => {
    await expect(writer.generate("").text()).rejects.toMatchObject({ code: "option-invalid" });
  });

  test("a prompt longer than the context is refused with both numbers", async () => {
    const small = await load(modelFolder(alphabet), { contextLength: 4 });
    const refusal = { code: "prompt-too-long", message: expect.stringMatching(/\b5\b.*\b4\b/) };
    await expect(small.generate("abcde").text()).rejects.toMatchObject(refusal);
    await expect(small.score("abcde")).rejects.toMatchObject(refusal);
    expect(await small.generate("abcd").text()).toBe("e"); // it fits, and the answer ends where the context does
  });

  test.each<[string, GenerateOptions]>([
    ["unknown", { unknown: 1 } as GenerateOptions],
    ["topP", { topP: 2 }],
  ])("the option %s is refused by name, by iteration, text() and end", async (name, options) => {
    const refusal = { code: "option-invalid", message: expect.stringContaining(name) };
    const run = writer.generate("a", options);
    await expect(readAll(run)).rejects.toMatchObject(refusal);
    await expect(run.text()).rejects.toMatchObject(refusal);
    await expect(run.end).rejects.toMatchObject(refusal);
  });
});

describe("sampling", () => {
  const { ids: prompt } = goldenCases("llama")[1] ?? { ids: [] };
  const sample = async (generator: TextGenerator, options: GenerateOptions) => {
    const run = generator.generate(prompt, { maxNewTokens: 12, ignoreEos: true, ...options });
    return { ids: idsOf(await readAll(run)), seed: (await run.end).seed };
  };

  test("is greedy by default, whatever generation_config.json suggests", async () => {
    const files = new Map(
      ["config.json", "tokenizer.json", "model.safetensors"].map((name) => [
        name,
        readFileSync(`${goldenFolder("llama")}/${name}`),
      ]),
    );
    const suggestion = { do_sample: true, temperature: 5, top_k: 40, eos_token_id: 0 };
    files.set("generation_config.json", Buffer.from(JSON.stringify(suggestion)));
    const generator = await load(modelFolder(files));
    expect(generator.info.suggestedSampling).toEqual({ temperature: 5, topK: 40 });
    expect(await sample(generator, {})).toMatchObject({ ids: goldenCases("llama")[1]?.greedy_ids.slice(0, 12) });
  });

  test.each([0, 1, 2, 4])("one seed gives the same ids with %i steps in flight", async (runAhead) => {
    const generator = await load(goldenFolder("llama"), { internal: { runAhead, prefillChunk: 2 } });
    const options = { temperature: 1.2, seed: 7, repetitionPenalty: 1.1, topP: 0.95 };
    expect(await sample(generator, options)).toEqual(await sample(golden, options));
  });

  test("the seed is random, and end.seed gives the same answer again", async () => {
    const first = await sample(golden, { temperature: 2 });
    const second = await sample(golden, { temperature: 2 });
    expect(second.seed).not.toBe(first.seed);
    expect(second.ids).not.toEqual(first.ids);
    expect(await sample(golden, { temperature: 2, seed: first.seed })).toEqual(first);
  });

  test("a bias of -Infinity bans, and another moves", async () => {
    const { ids } = await sample(golden, {});
    const [best = -1] = ids;
    const banned = await sample(golden, { logitBias: { [best]: -Infinity } });
    expect(banned.ids).not.toContain(best);
    expect((await sample(golden, { logitBias: { 50: 100 } })).ids).toEqual(Array.from({ length: 12 }, () => 50));
  });
});

describe("the run", () => {
  test("chunks joined are text(), read at the same time or not, and nothing is lost to a late start", async () => {
    const run = writer.generate("a");
    const end = await run.end;
    const chunks = await readAll(run);
    expect(chunks.map(({ text }) => text).join("")).toBe("bcdefghijklmnopqrst");
    expect(chunks).toHaveLength(19); // a chunk a token
    expect(await run.text()).toBe("bcdefghijklmnopqrst");
    expect(end).toMatchObject({
      finishReason: "stop",
      usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 19 },
    });
  });

  test("tokens have id, text, bytes and logprob, and top only where it was asked for", async () => {
    const [chunk] = await readAll(writer.generate("a", { maxNewTokens: 1 }));
    expect(chunk?.tokens).toEqual([{ id: 3, text: "b", bytes: Uint8Array.of(98), logprob: expect.any(Number) }]);
    const [withTop] = await readAll(writer.generate("a", { maxNewTokens: 1, topLogprobs: 2 }));
    expect(withTop?.tokens[0]?.top).toEqual([
      { id: 3, text: "b", logprob: expect.closeTo(-Math.log(1 + 31 * Math.exp(-12)), 6) },
      { id: 0, text: "", logprob: expect.closeTo(-12, 3) },
    ]);
  });

  test("the limit ends it with length", async () => {
    const run = writer.generate("a", { maxNewTokens: 3 });
    expect(await run.text()).toBe("bcd");
    expect(await run.end).toMatchObject({ finishReason: "length", usage: { completionTokens: 3 } });
  });

  test("timings are those of work that was done", async () => {
    const run = writer.generate("abc", { reusePrefix: false });
    const { timings } = await run.end;
    for (const [name, value] of Object.entries(timings)) expect(value, name).toBeGreaterThan(0);
    expect(timings.firstTokenMs).toBeGreaterThanOrEqual(timings.prefillMs);
    expect(timings.decodeTokensPerSecond).toBeCloseTo((17 * 1000) / timings.decodeMs, 3); // 17 steps after the first
    const single = await writer.generate("a", { maxNewTokens: 1 }).end;
    expect(single.timings).toMatchObject({ decodeMs: 0, decodeTokensPerSecond: 0 });
  });

  test("a second loop over it is refused", async () => {
    const run = writer.generate("a");
    await readAll(run);
    expect(() => run[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: "option-invalid" }));
  });

  test("a stop string and its tokens leave text, tokens and cache, and stay in the usage", async () => {
    const run = writer.generate("a", { stop: ["fgh"], reusePrefix: false });
    const chunks = await readAll(run);
    expect(chunks.map(({ text }) => text).join("")).toBe("bcde");
    expect(idsOf(chunks)).toEqual([3, 4, 5, 6]);
    expect(await run.end).toMatchObject({ finishReason: "stop", usage: { completionTokens: 7 } });
    const next = await writer.generate("abcdefghi").end;
    expect(next.usage.cachedTokens).toBe(5); // "a" and "bcde"
  });

  test("reusePrefix keeps what the cache holds, and changes no id", async () => {
    const { ids } = goldenCases("llama")[2] ?? { ids: [] };
    const options = { maxNewTokens: 6, ignoreEos: true };
    const anew = golden.generate(ids, { ...options, reusePrefix: false });
    expect((await anew.end).usage.cachedTokens).toBe(0);
    const again = golden.generate(ids, options);
    expect((await again.end).usage.cachedTokens).toBe(ids.length - 1);
    expect(idsOf(await readAll(again))).toEqual(idsOf(await readAll(anew)));
  });
});

describe("stopping", () => {
  const long = { maxNewTokens: 300, ignoreEos: true };

  test("by signal: iteration and text() reject with its reason, and end says abort", async () => {
    const controller = new AbortController();
    const run = golden.generate([5], { ...long, signal: controller.signal });
    const reason = { why: "the reader has left" };
    let read = 0;
    const reading = (async () => {
      for await (const { tokens } of run) if ((read += tokens.length) >= 2) controller.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
    await expect(run.text()).rejects.toBe(reason);
    const end = await run.end;
    expect(end.finishReason).toBe("abort");
    expect(end.usage.completionTokens).toBeLessThan(10);
  });

  test("by a signal that aborted before: nothing is written", async () => {
    const run = golden.generate([5], { ...long, signal: AbortSignal.abort("no") });
    await expect(run.text()).rejects.toBe("no");
    expect(await run.end).toMatchObject({ finishReason: "abort", usage: { completionTokens: 0 } });
  });

  test("by leaving the loop", async () => {
    const run = golden.generate([5], long);
    for await (const chunk of run) if (chunk.tokens.length > 0) break;
    expect((await run.end).finishReason).toBe("abort");
    await expect(run.text()).rejects.toMatchObject({ name: "AbortError" });
  });

  test("a signal that aborts after the end changes nothing", async () => {
    const controller = new AbortController();
    const run = writer.generate("a", { signal: controller.signal });
    await run.end;
    controller.abort();
    expect(await run.text()).toBe("bcdefghijklmnopqrst");
    expect(await readAll(run)).toHaveLength(19);
    expect((await run.end).finishReason).toBe("stop");
  });

  test("leaving the loop after the end changes nothing", async () => {
    const run = writer.generate("a");
    await run.end;
    for await (const chunk of run) if (chunk.text !== "") break;
    expect((await run.end).finishReason).toBe("stop");
    expect(await run.text()).toBe("bcdefghijklmnopqrst");
  });

  test("a second answer waits, and its own signal takes it out of the queue", async () => {
    const controller = new AbortController();
    const first = golden.generate([5], { ...long, maxNewTokens: 20 });
    const second = golden.generate([6], { ...long, signal: controller.signal });
    const third = golden.generate([7], { ...long, maxNewTokens: 2 });
    controller.abort("changed my mind");
    await expect(second.text()).rejects.toBe("changed my mind");
    expect(await second.end).toMatchObject({ finishReason: "abort", usage: { completionTokens: 0 } });
    expect((await first.end).usage.completionTokens).toBe(20);
    expect((await third.end).usage.completionTokens).toBe(2);
  });

  test("nothing of it is ever an unhandled rejection", async () => {
    const controller = new AbortController();
    golden.generate([5], { ...long, signal: controller.signal });
    void golden.generate([5], { ...long, signal: controller.signal }).text();
    golden.generate([5], { maxNewTokens: 0 });
    golden.generate([], {});
    controller.abort(new Error("nobody listens"));
    await golden.generate([5], { maxNewTokens: 1 }).end;
    await later();
    expect(unhandled).toBe(0);
  });
});

describe("score", () => {
  test("gives each token the model's own log-probability, and the first none", async () => {
    const { ids, greedy_ids, logprobs_f64 } = goldenCases("llama")[1] ?? { ids: [], greedy_ids: [], logprobs_f64: [] };
    const [next = -1] = greedy_ids;
    const { tokens, logprob, perplexity } = await golden.score([...ids, next]);
    expect(tokens.map(({ id }) => id)).toEqual([...ids, next]);
    expect(tokens[0]?.logprob).toBeNull();
    expect(tokens.at(-1)?.logprob).toBeCloseTo(logprobs_f64[next] ?? NaN, 4);
    const sum = tokens.reduce((total, token) => total + (token.logprob ?? 0), 0);
    expect(logprob).toBeCloseTo(sum, 6);
    expect(perplexity).toBeCloseTo(Math.exp(-sum / ids.length), 6);
  });

  test("of a text gives its texts; of one token there is nothing to predict", async () => {
    const { tokens } = await writer.score("abd");
    expect(tokens.map(({ text }) => text)).toEqual(["a", "b", "d"]);
    expect(tokens[1]?.logprob).toBeCloseTo(0, 3);
    expect(tokens[2]?.logprob).toBeCloseTo(-12, 3);
    expect(await writer.score("a")).toMatchObject({ logprob: 0, perplexity: NaN, tokens: [{ logprob: null }] });
  });

  test("rejects with its signal's reason", async () => {
    await expect(writer.score("abc", { signal: AbortSignal.abort("no") })).rejects.toBe("no");
  });
});

describe("choose", () => {
  test("ranks continuations by the probability of the whole text, and shares 1 among them", async () => {
    const candidates = ["dt", "de", "d", "ef"];
    const choice = await writer.choose("abc", candidates);
    expect(choice).toMatchObject({ index: 2, text: "d" });
    expect(choice.candidates.map(({ text }) => text)).toEqual(["d", "de", "dt", "ef"]);
    const whole = async (text: string) =>
      (await writer.score(`abc${text}`)).logprob - (await writer.score("abc")).logprob;
    for (const { text, logprob, tokenCount } of choice.candidates) {
      expect(logprob).toBeCloseTo(await whole(text), 5);
      expect(tokenCount).toBe(text.length);
    }
    expect(choice.candidates.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 9);
  });

  test("after ids and messages a candidate is tokens of its own", async () => {
    const { ids, greedy_ids } = goldenCases("llama")[1] ?? { ids: [], greedy_ids: [] };
    const said = await golden.choose(ids, ["a", "b"]);
    const [a, b] = await Promise.all(["a", "b"].map((text) => golden.tokenize(text, { addSpecialTokens: false })));
    const scored = await Promise.all([a, b].map((more) => golden.score([...ids, ...(more ?? [])])));
    const base = (await golden.score(ids)).logprob;
    const logprobs = scored.map(({ logprob }) => logprob - base);
    for (const { index, logprob } of said.candidates) expect(logprob).toBeCloseTo(logprobs[index] ?? NaN, 4);
    expect(greedy_ids).not.toHaveLength(0);
  });

  test.each([
    ["no candidates", [], /candidates is a list of 0/],
    ["an empty one", ["a", ""], /candidates is ""/],
  ])("refuses %s", async (_, candidates, message) => {
    await expect(writer.choose("abc", candidates)).rejects.toMatchObject({ code: "option-invalid" });
    await expect(writer.choose("abc", candidates)).rejects.toThrow(message);
  });

  test("refuses what does not fit, and rejects with its signal's reason", async () => {
    const small = await load(modelFolder(alphabet), { contextLength: 5 });
    expect((await small.choose("abc", ["de", "ee"])).text).toBe("de");
    await expect(small.choose("abc", ["d", "def"])).rejects.toMatchObject({ code: "prompt-too-long" });
    await expect(writer.choose("abc", ["d"], { signal: AbortSignal.abort("no") })).rejects.toBe("no");
    await expect(writer.choose("abc", ["d"], { topK: 3 } as object)).rejects.toThrow(/choose has no option "topK"/);
  });
});

describe("embed", () => {
  /** The table's model has unit vectors for hidden states: the one of the last token, times sqrt(hidden size). */
  test("the last token's state, and the mean of all, at length 1 unless that is not wanted", async () => {
    const [a] = await writer.tokenize("a", { addSpecialTokens: false });
    const last = await writer.embed("ccba", { pooling: "last" });
    expect(last).toHaveLength(32);
    expect(last[a ?? -1]).toBeCloseTo(1, 4);
    const mean = await writer.embed("ccba", { pooling: "mean", normalize: false });
    const scale = mean.reduce((sum, value) => sum + value, 0);
    expect([...mean].map((value) => Math.round((4 * value) / scale)).sort().slice(-3)).toEqual([1, 1, 2]); // prettier-ignore
    expect(Math.hypot(...(await writer.embed("ccba", { pooling: "mean" })))).toBeCloseTo(1, 6);
  });

  test("dimensions keeps the first numbers, and normalizes those", async () => {
    const { ids } = goldenCases("llama")[1] ?? { ids: [] };
    const whole = await golden.embed(ids, { pooling: "mean", normalize: false });
    const part = await golden.embed(ids, { pooling: "mean", dimensions: 8 });
    const length = Math.hypot(...whole.subarray(0, 8));
    part.forEach((value, i) => expect(value).toBeCloseTo((whole[i] ?? NaN) / length, 5));
    expect(part).toHaveLength(8);
  });

  test.each([
    ["no pooling", {}, /pooling is undefined/],
    ["another pooling", { pooling: "cls" }, /pooling is "cls"/],
    ["more dimensions than there are", { pooling: "last", dimensions: 33 }, /dimensions is 33.* have 32/],
    ["an unknown option", { pooling: "last", topK: 1 }, /embed has no option "topK"/],
  ])("refuses %s", async (_, options, message) => {
    const refused = writer.embed("abc", options as { pooling: "last" });
    await expect(refused).rejects.toMatchObject({ code: "option-invalid" });
    await expect(refused).rejects.toThrow(message);
  });
});

describe("loading", () => {
  test("info says what was loaded, how, where and why", () => {
    expect(golden.info).toMatchObject({
      modelType: "llama",
      dtype: "f32",
      kvDtype: "f32",
      backend: "reference",
      worker: false,
      adapter: "",
      isFallbackAdapter: false,
      tier: "reference",
      layerCount: 3,
      vocabSize: 384,
      parameterCount: 249504,
      suggestedSampling: expect.any(Object),
      bytes: { weights: expect.any(Number), kvCache: expect.any(Number), activations: expect.any(Number) },
      backendReason: "asked for",
      workerReason: expect.stringContaining("no workers"),
    });
  });

  test("the context is the model's, or what was asked for, and no more than the model's", async () => {
    const { max_position_embeddings: longest } = JSON.parse(
      readFileSync(`${goldenFolder("llama")}/config.json`, "utf8"),
    );
    expect(golden.info.contextLength).toBe(longest);
    expect((await load(goldenFolder("llama"), { contextLength: 10 })).info.contextLength).toBe(10);
    await expect(load(goldenFolder("llama"), { contextLength: longest + 1 })).rejects.toMatchObject({
      code: "option-invalid",
      message: expect.stringContaining(String(longest)),
    });
  });

  test("auto never takes the reference unless it is allowed", async () => {
    const failure = load(modelFolder(alphabet), { backend: "auto" });
    await expect(failure).rejects.toMatchObject({ code: "webgpu-unavailable" });
    const allowed = await load(modelFolder(alphabet), { backend: "auto", allowReference: true });
    expect(allowed.info).toMatchObject({
      backend: "reference",
      backendReason: expect.stringContaining("allowReference"),
    });
  });

  test.each(["config.json", "tokenizer.json", "model.safetensors"])(
    "a folder without %s is refused by that name",
    async (name) => {
      const files = new Map(alphabet);
      files.delete(name);
      await expect(load(modelFolder(files))).rejects.toMatchObject({
        code: "model-not-found",
        message: expect.stringContaining(name),
      });
    },
  );

  test("an abort rejects with its reason, before and while the weights load", async () => {
    await expect(load(goldenFolder("llama"), { signal: AbortSignal.abort("no") })).rejects.toBe("no");
    const controller = new AbortController();
    const onProgress = ({ phase }: { phase: string }) => {
      if (phase === "weights") controller.abort("enough");
    };
    await expect(load(goldenFolder("llama"), { signal: controller.signal, onProgress })).rejects.toBe("enough");
  });

  test("tokenize and detokenize are each other's inverse", async () => {
    const text = "I'm 12345 ok\n\n  x äöü 🦙";
    expect(await golden.detokenize(await golden.tokenize(text, { addSpecialTokens: false }))).toBe(text);
    expect(await golden.detokenize([])).toBe("");
    await expect(golden.detokenize([384])).rejects.toMatchObject({ code: "option-invalid" });
  });

  test("after dispose everything is refused, what runs and waits included, and twice is once", async () => {
    const generator = await load(goldenFolder("llama"));
    const running = generator.generate([5], { maxNewTokens: 300, ignoreEos: true });
    const waiting = generator.generate([6]);
    await later();
    await Promise.all([generator.dispose(), generator.dispose()]);
    const refusal = { code: "disposed" };
    for (const run of [running, waiting, generator.generate([7])]) {
      await expect(run.text()).rejects.toMatchObject(refusal);
      await expect(run.end).rejects.toMatchObject(refusal);
    }
    await expect(generator.score([1])).rejects.toMatchObject(refusal);
    await expect(generator.tokenize("a")).rejects.toMatchObject(refusal);
    await expect(generator.detokenize([1])).rejects.toMatchObject(refusal);
    await later();
    expect(unhandled).toBe(0);
  });
});
