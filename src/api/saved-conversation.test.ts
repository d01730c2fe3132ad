/** Conversations that are saved with their keys and values, and go on elsewhere: a real model, on the reference. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CacheTransfer } from "../engine/cache-transfer";
import { goldenFolder, type GoldenModel } from "../testing/golden-models";
import { TextGenerator } from "./text-generator";
import type { LoadOptions } from "./options";

const CHATML =
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
const SHORT = { maxNewTokens: 10, ignoreEos: true };

/** A golden model with a chat template. `changed`: another number in its weights. */
function chatFiles(model: GoldenModel, changed = false): File[] {
  const read = (name: string) => readFileSync(`${goldenFolder(model)}/${name}`);
  const weights = Uint8Array.from(read("model.safetensors"));
  if (changed) weights[weights.length - 1] = (weights.at(-1) ?? 0) ^ 1;
  return [
    ...["config.json", "tokenizer.json"].map((name) => new File([Uint8Array.from(read(name))], name)),
    new File([JSON.stringify({ chat_template: CHATML })], "tokenizer_config.json"),
    new File([weights], "model.safetensors"),
  ];
}

const open: TextGenerator[] = [];
async function load(model: GoldenModel, options: LoadOptions & { changed?: boolean } = {}) {
  const { changed = false, ...rest } = options;
  const files = chatFiles(model, changed);
  const generator = await TextGenerator.load(files, { backend: "reference", dtype: "f32", worker: false, ...rest });
  open.push(generator);
  return generator;
}
afterAll(() => Promise.all(open.map((generator) => generator.dispose())));

async function idsOf(run: ReturnType<TextGenerator["generate"]>): Promise<number[]> {
  const ids: number[] = [];
  for await (const { tokens } of run) ids.push(...tokens.map(({ id }) => id));
  return ids;
}

describe.each(["llama", "lfm2"] as const)("%s", (model) => {
  let generator: TextGenerator;
  let saved: Blob;
  /** Of the last prompt. */
  let promptTokens: number;
  let expected: number[];
  beforeAll(async () => {
    generator = await load(model);
    const chat = generator.conversation({ system: "Be kind." });
    await chat.send("Once", SHORT).end;
    ({ promptTokens } = (await chat.send("And then?", SHORT).end).usage);
    saved = await chat.toBlob();
    // By definition: without anything from the cache.
    expected = await idsOf(chat.fork().send("So?", { ...SHORT, reusePrefix: false }));
  });

  test("restored, it goes on with the same ids, and what was kept is not run again", async () => {
    const other = await load(model);
    const chat = await other.restore(saved);
    expect(chat.turnCount).toBe(2);
    const count = await chat.countTokens("So?");
    const run = chat.send("So?", SHORT);
    expect(await idsOf(run)).toEqual(expected);
    const { usage } = await run.end;
    expect(usage.promptTokens).toBe(count);
    // Random bytes need not come back as they were, but everything up to the last answer does.
    expect(usage.cachedTokens).toBeGreaterThanOrEqual(promptTokens);
  });

  test("in another context length, and through another's cache, the same", async () => {
    const other = await load(model, { contextLength: 200 });
    await other.generate("Something else entirely.", SHORT).end;
    const chat = await other.restore(saved);
    await other.generate("And again, in between.", SHORT).end;
    expect(await idsOf(chat.send("So?", SHORT))).toEqual(expected);
  });
});

describe("what does not fit is refused", () => {
  let generator: TextGenerator;
  let saved: Uint8Array<ArrayBuffer>;
  beforeAll(async () => {
    generator = await load("llama");
    const chat = generator.conversation();
    await chat.send("Once", SHORT).end;
    saved = new Uint8Array(await (await chat.toBlob()).arrayBuffer());
  });
  const blob = (bytes: Uint8Array<ArrayBuffer> = saved) => new Blob([bytes]);

  test("on another model, in another dtype, and where a single weight differs", async () => {
    const others: [GoldenModel, LoadOptions & { changed?: boolean }][] = [
      ["qwen2", {}],
      ["llama", { dtype: "q8" }],
      ["llama", { changed: true }],
    ];
    for (const [model, options] of others) {
      const other = await load(model, options);
      await expect(other.restore(blob())).rejects.toMatchObject({ code: "conversation-mismatch" });
      const chat = await other.restore(blob(), { withoutCache: true });
      expect(chat.messages[0]).toEqual({ role: "user", content: "Once" });
      expect((await chat.send("So?", SHORT).end).usage.completionTokens).toBe(10);
    }
  });

  test("a byte changed anywhere, and an end at any place, are found", async () => {
    const other = await load("llama");
    for (let at = 0; at < saved.length; at += Math.ceil(saved.length / 60)) {
      const damaged = saved.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 4;
      await expect(other.restore(blob(damaged)), `byte ${at}`).rejects.toMatchObject({ code: "file-invalid" });
      await expect(other.restore(blob(saved.slice(0, at))), `end ${at}`).rejects.toMatchObject({
        code: "file-invalid",
      });
    }
    await expect(other.restore(new Blob([saved, "x"]))).rejects.toMatchObject({ code: "file-invalid" });
    // What has been put in before the damage was found is right: nothing is wrong with the next answers.
    const [ours, theirs] = [other, generator].map((one) => one.generate("Once upon", SHORT));
    expect(ours && (await idsOf(ours))).toEqual(theirs && (await idsOf(theirs)));
  });

  test("no name, no Blob, an unknown option, an aborted signal", async () => {
    await expect(generator.restore("nobody")).rejects.toMatchObject({ code: "option-invalid" });
    await expect(generator.restore(1 as never)).rejects.toMatchObject({ code: "option-invalid" });
    await expect(generator.restore(blob(), { cache: true } as never)).rejects.toThrow(/no option "cache"/);
    const stopped = AbortSignal.abort(new Error("no more"));
    await expect(generator.restore(blob(), { signal: stopped })).rejects.toThrow("no more");
    await expect(generator.conversation().toBlob({ signal: stopped })).rejects.toThrow("no more");
    await expect(generator.conversation().save("name")).rejects.toMatchObject({ code: "storage-failed" });
  });
});

test("the cache is asked for in pieces, each of which is right in a run between two others", async () => {
  const positions: [number, number][] = [];
  const read = CacheTransfer.prototype.read;
  CacheTransfer.prototype.read = async function (tokens, start, signal) {
    // One position at a time, and something else written between two of them.
    const piece = await read.call(this, tokens.subarray(0, start + 3), start, signal);
    if (piece) positions.push([piece.start, piece.end]);
    await generator.generate("in between", { maxNewTokens: 2 }).end;
    return piece;
  };
  const generator = await load("llama");
  try {
    const chat = generator.conversation();
    await chat.send("Once", SHORT).end;
    const expected = await idsOf(chat.fork().send("So?", { ...SHORT, reusePrefix: false }));
    const saved = await chat.toBlob();
    expect(positions.length).toBeGreaterThan(5);
    const other = await (await load("llama")).restore(saved);
    expect(await idsOf(other.send("So?", SHORT))).toEqual(expected);
  } finally {
    CacheTransfer.prototype.read = read;
  }
});
