import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { unpackRows } from "../formats/quantization";
import { TextGenerator } from "../index";
import { at } from "../testing/at";
import { editGguf, headerOf } from "../testing/edit-gguf";
import { GGUF_GOLDEN, ggufFiles, openGgufBytes, runGguf } from "../testing/gguf-run";
import { goldenCases, goldenFolder } from "../testing/golden-models";
import { expectGolden, F32 } from "../testing/golden-run";
import { memoryFiles } from "../testing/memory-files";
import { f32Tensor, makeGguf, type MadeTensor, type MadeValue } from "../testing/make-gguf";
import { sharedDataOrWarn } from "../testing/shared-data";
import { expectStories, type StoriesGolden } from "../testing/stories-golden";
import { loadWeights } from "./load-weights";
import { readModelParts } from "./read-model";

const golden = (model: (typeof GGUF_GOLDEN)[number]) => readFileSync(`${goldenFolder(model)}model-F32.gguf`);
const llama = golden("llama");

test.each(GGUF_GOLDEN)("the golden %s from its GGUF file gives the golden ids and log-probabilities", async (model) => {
  const { backend } = await runGguf(golden(model), F32);
  await expectGolden(backend, goldenCases(model));
});

const stories = sharedDataOrWarn("stories260k", "a trained model from GGUF files of four types");

describe.runIf(stories)("stories260k, a trained Llama", () => {
  const file = (type: string) => readFileSync(`${stories}/stories260K-${type}.gguf`);
  const values = (type: string): StoriesGolden => {
    const all = JSON.parse(readFileSync(`${stories}/golden.json`, "utf8")) as { files: Record<string, unknown> };
    return { files: { F32: all.files[type] } } as StoriesGolden; // each type has what F32 has
  };

  test.each(["F32", "F16", "Q8_0", "Q4_0"])(
    "gives the ids and the likeliest tokens of its %s file",
    async (type) => {
      const { backend } = await runGguf(file(type), F32);
      await expectStories(backend, values(type), 1e-3);
    },
    120_000,
  );

  test.each([
    ["Q8_0", "q8"],
    ["Q4_0", "q4"],
  ] as const)("%s held as %s is kept as it is: each value of each such tensor", async (type, dtype) => {
    // What is not of this type (ffn_down here) is rounded, so values are compared, not answers.
    const written = new Map<string, boolean>();
    const exact = await valuesOf(file(type), undefined, undefined);
    const held = await valuesOf(file(type), dtype, (name, kept) => written.set(name, kept));
    for (const [name, kept] of written) if (kept) expect(held.get(name), name).toEqual(exact.get(name));
    expect([...written].filter(([, kept]) => kept).map(([name]) => name)).toEqual(
      expect.arrayContaining(["token_embedding", "layers.0.q.weight", "layers.4.up.weight"]),
    );
    expect(written.get("layers.0.down.weight")).toBe(false);
  });
});

/** Every tensor as a sink gets it; with `format`, the values that kept rows stand for. */
async function valuesOf(
  bytes: Uint8Array,
  format: "q8" | "q4" | undefined,
  onTensor: ((name: string, kept: boolean) => void) | undefined,
): Promise<Map<string, number[]>> {
  const { spec, checkpoint } = await openGgufBytes(bytes);
  const columnsOf = new Map(spec.tensors.map(({ name, shape }) => [name, shape[1]]));
  const tensors = new Map<string, number[]>();
  const take = (name: string, values: Float32Array, kept: boolean) => {
    onTensor?.(name, kept);
    tensors.set(name, [...(tensors.get(name) ?? []), ...Array.from(values, (value) => value + 0)]); // 0 and -0 are one
  };
  await loadWeights({
    files: ggufFiles(bytes),
    spec,
    checkpoint,
    sink: {
      kept: format && {
        formatOf: () => format,
        write: (name, _firstRow, rows, packed) =>
          take(name, unpackRows(format, packed, rows, columnsOf.get(name) ?? 1), true),
      },
      write: (name, _firstRow, values) => take(name, values, false),
      drained: () => Promise.resolve(),
    },
  });
  return tensors;
}

describe("what is read of a file", () => {
  test("before the weights: its beginning alone, in growing steps where the metadata are long", async () => {
    const long = editGguf(llama, { "general.description": ["string", "x".repeat(600_000)] });
    const { files } = await runGguf(long, F32);
    const { dataStart } = headerOf(long);
    // Headers in reads of 256 KiB and of what was missing; then the weights, once.
    expect(files.bytesRead.get("model.gguf")).toBeLessThan(4 * dataStart + (long.length - dataStart));
    expect(files.streamsOpened.get("model.gguf")).toBe(3);
  });

  test("where nobody knows its size, too", async () => {
    const files = memoryFiles({ "a.gguf": llama }, { sizes: false });
    expect((await readModelParts(files, new AbortController().signal)).spec.vocabSize).toBe(384);
  });
});

describe("a model in parts", () => {
  const header = headerOf(llama);
  const tensors = [...header.tensors.values()];
  const split = (no: number, count: number, from: number, to: number, total = tensors.length) =>
    editGguf(
      llama,
      {
        "split.no": ["u16", no],
        "split.count": ["u16", count],
        "split.tensors.count": ["i32", total],
      },
      (all) => all.slice(from, to),
    );
  const half = 14;
  const parts = { "m-00001-of-00002.gguf": split(0, 2, 0, half), "m-00002-of-00002.gguf": split(1, 2, half, 99) };

  test("gives what the whole one gives", async () => {
    const { backend } = await runGguf(parts, F32);
    await expectGolden(backend, goldenCases("llama").slice(0, 2));
  });

  test.each<[string, Record<string, Uint8Array>, string, RegExp]>([
    [
      "one is missing",
      { "m-00001-of-00002.gguf": split(0, 2, 0, half) },
      "model-not-found",
      /no m-00002-of-00002.gguf/,
    ],
    [
      "they have changed places",
      { "m-00001-of-00002.gguf": split(1, 2, 0, half), "m-00002-of-00002.gguf": split(0, 2, half, 99) },
      "file-invalid",
      /says it is part 2 of 2, not 1 of 2/,
    ],
    ["one is called a whole model", { "m.gguf": split(0, 2, 0, half) }, "file-invalid", /part 1 of 2, not 1 of 1/],
    [
      "both have the same tensor",
      { "m-00001-of-00002.gguf": split(0, 2, 0, half), "m-00002-of-00002.gguf": split(1, 2, half - 1, 99) },
      "file-invalid",
      /in a part before it/,
    ],
    [
      "tensors are missing",
      { "m-00001-of-00002.gguf": split(0, 2, 0, half), "m-00002-of-00002.gguf": split(1, 2, half + 1, 99) },
      "file-invalid",
      /have 28 tensors; the first says 29/,
    ],
  ])("is refused where %s", async (_, files, code, message) => {
    await expect(openGgufBytes(files)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as unknown,
    });
  });
});

describe("a file is refused", () => {
  const edited = (changes: Readonly<Record<string, MadeValue | undefined>>, drop?: string) =>
    editGguf(llama, changes, (tensors) => tensors.filter(({ name }) => name !== drop));
  const nan = (tensors: readonly MadeTensor[]) =>
    tensors.map((tensor) => {
      if (tensor.name !== "blk.0.attn_q.weight") return tensor;
      const block = new Uint8Array(34);
      block.set([0x00, 0x7e]);
      return {
        ...tensor,
        type: 8,
        bytes: new Uint8Array(
          Array(96 * 3)
            .fill([...block])
            .flat() as number[],
        ),
      };
    });

  test.each<[string, Uint8Array, string, RegExp]>([
    [
      "of an unknown architecture",
      edited({ "general.architecture": ["string", "mamba"] }),
      "model-unsupported",
      /"mamba"/,
    ],
    [
      "without one",
      edited({ "general.architecture": undefined }),
      "model-unsupported",
      /general.architecture is undefined/,
    ],
    ["with experts", edited({ "llama.expert_count": ["u32", 8] }), "model-unsupported", /8 experts/],
    [
      "with a key that is not known",
      edited({ "llama.new_trick": ["u32", 1] }),
      "config-unsupported",
      /llama.new_trick/,
    ],
    ["without a size", edited({ "llama.block_count": undefined }), "config-invalid", /llama.block_count/],
    [
      "with a size that is a text",
      edited({ "llama.block_count": ["string", "3"] }),
      "config-invalid",
      /llama.block_count/,
    ],
    ["whose heads do not divide", edited({ "llama.attention.head_count": ["u32", 7] }), "config-invalid", /./],
    [
      "with values of another width than keys",
      edited({ "llama.attention.value_length": ["u32", 8] }),
      "config-unsupported",
      /value_length/,
    ],
    [
      "with an unknown scaling of RoPE",
      edited({ "llama.rope.scaling.type": ["string", "spiral"] }),
      "config-unsupported",
      /spiral/,
    ],
    ["without a tensor", edited({}, "blk.1.ffn_up.weight"), "tensor-missing", /blk.1.ffn_up.weight/],
    ["without an embedding", edited({}, "token_embd.weight"), "config-invalid", /vocab_size/],
    [
      "whose sizes are not those of the tensors",
      edited({ "llama.feed_forward_length": ["u32", 128] }),
      "tensor-mismatch",
      /ffn_gate/,
    ],
    ["with scales that are no numbers", editGguf(llama, {}, nan), "file-invalid", /blk.0.attn_q.weight\[0, 0\] is NaN/],
    ["cut off", llama.subarray(0, -1), "file-invalid", /truncated/],
    [
      "with frequencies that are no numbers",
      editGguf(llama, {}, (all) => [...all, f32Tensor("rope_freqs.weight", [8], Array(8).fill(NaN))]),
      "file-invalid",
      /rope_freqs.weight should hold positive numbers/,
    ],
    [
      "with too few frequencies",
      editGguf(llama, {}, (all) => [...all, f32Tensor("rope_freqs.weight", [4], Array(4).fill(1))]),
      "tensor-mismatch",
      /4 numbers for 8 frequencies/,
    ],
    [
      "with a matrix of a type that is not read",
      makeGguf({
        metadata: [...headerOf(llama).metadata].flatMap(([key, value]) =>
          typeof value === "object" ? [] : [[key, madeOf(value)] as const],
        ),
        tensors: [{ name: "token_embd.weight", shape: [384, 256], type: 16, bytes: new Uint8Array(384 * 66) }],
      }),
      "model-unsupported",
      /token_embd.weight is held as IQ2_XXS/,
    ],
  ])("%s", async (_, bytes, code, message) => {
    const before = process.cpuUsage();
    const error = { code, message: expect.stringMatching(message) as unknown };
    await expect(runGguf(bytes, F32)).rejects.toMatchObject(error);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(2000);
  });
});

function madeOf(value: number | string | boolean): MadeValue {
  if (typeof value === "string") return ["string", value];
  return typeof value === "boolean" ? ["bool", value] : [Number.isInteger(value) ? "u32" : "f32", value];
}

describe("through the public API", () => {
  const load = (bytes: Uint8Array<ArrayBuffer>, name = "tiny-F32.gguf") =>
    TextGenerator.load([new File([bytes], name)], { backend: "reference", worker: false });

  test("a .gguf file alone is a model: golden ids, and info says what the file holds", async () => {
    const generator = await load(new Uint8Array(llama));
    const { ids, greedy_ids } = at(goldenCases("llama"), 1);
    const run = generator.generate(ids, { maxNewTokens: greedy_ids.length, ignoreEos: true });
    const chosen: number[] = [];
    for await (const { tokens } of run) chosen.push(...tokens.map(({ id }) => id));
    expect(chosen).toEqual(greedy_ids);
    expect(generator.info).toMatchObject({ modelType: "llama", vocabSize: 384, contextLength: 512, layerCount: 3 });
    expect(generator.info.reason).toContain("the file has F32 (29 tensors)");
    await generator.dispose();
  });

  test("a path of a .gguf file in Node is one, too, though safetensors lie beside it", async () => {
    const source = `${goldenFolder("llama")}model-F32.gguf`;
    const generator = await TextGenerator.load(source, { backend: "reference", worker: false });
    expect(generator.info.reason).toContain("the file has F32");
    await generator.dispose();
  });

  test("end tokens and suggested sampling are the file's", async () => {
    const bytes = editGguf(llama, {
      "tokenizer.ggml.eot_token_id": ["u32", 2],
      "general.sampling.temp": ["f32", 0.5],
      "general.sampling.top_k": ["u32", 20],
    });
    const { endTokenIds, suggestedSampling } = await openGgufBytes(bytes);
    expect(endTokenIds).toEqual([0, 2]);
    expect(suggestedSampling).toEqual({ temperature: 0.5, topK: 20 });
  });

  test("a model tuned for chat ends at the token that ends a turn, also where the file does not name it", async () => {
    const template = ["string", "{{ messages[0].content }}"] as const;
    expect((await openGgufBytes(llama)).endTokenIds).toEqual([0]);
    const chat = await openGgufBytes(editGguf(llama, { "tokenizer.chat_template": template }));
    expect(chat.endTokenIds).toEqual([0, 2]); // <|im_end|>
    expect((await chat.readTokenizer()).hasChatTemplate).toBe(true);
  });
});
