/** Whole models in the formats of quantized safetensors; see testing/packed/PROVENANCE.md. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { WordloomError } from "../errors";
import type { WeightSink } from "../backends/backend";
import { unpackRows } from "../formats/quantization";
import { parseSafetensorsHeader } from "../formats/safetensors";
import { TextGenerator } from "../index";
import { at } from "../testing/at";
import { goldenFolder } from "../testing/golden-models";
import { joinSafetensors } from "../testing/make-safetensors";
import { memoryFiles, type MemoryFiles } from "../testing/memory-files";
import { modelFolder } from "../testing/model-folder";
import { PACKED_MODELS, packedModel, type PackedModel } from "../testing/packed-fixtures";
import { expectLogprobs, runFolder } from "../testing/packed-run";
import { openCheckpoint } from "./checkpoint-plan";
import { loadWeights } from "./load-weights";
import { readModelParts } from "./read-model";

/** Golden values have 6 decimals and are up to 30 nats; logits are rounded to float32 once. */
const TOLERANCE = { absolute: 5e-6 };
const F32 = { dtype: "f32", kvDtype: "f32" } as const;

interface Tensor {
  name: string;
  dtype: string;
  shape: readonly number[];
  bytes: Uint8Array;
}

function tensorsOf(weights: Uint8Array): Tensor[] {
  const { tensors } = parseSafetensorsHeader(weights, weights.length);
  return [...tensors.values()].map(({ start, end, ...tensor }) => ({ ...tensor, bytes: weights.slice(start, end) }));
}

function fileOf(tensors: readonly Tensor[]): Uint8Array {
  const header: Record<string, unknown> = {};
  let start = 0;
  for (const { name, dtype, shape, bytes } of tensors) {
    header[name] = { dtype, shape, data_offsets: [start, start + bytes.length] };
    start += bytes.length;
  }
  return joinSafetensors(
    header,
    tensors.map(({ bytes }) => bytes),
  );
}

function folder({ config }: PackedModel, weights: Record<string, Uint8Array>): MemoryFiles {
  return memoryFiles({ "config.json": JSON.stringify(config), ...weights }, { chunkBytes: 4099 });
}

test("there is a model of each scheme", () => {
  expect(PACKED_MODELS).toEqual([
    "awq",
    "bnb-int8",
    "bnb-nf4",
    "compressed-int8",
    "compressed-pack",
    "fp8",
    "gptq",
    "mlx",
  ]);
});

describe.each(PACKED_MODELS)("%s", (name) => {
  const model = packedModel(name);

  test("the logits are those of the float model with the decoded weights", async () => {
    const files = folder(model, { "model.safetensors": model.weights });
    const backend = await runFolder(files, F32);
    await expectLogprobs(backend, model.cases, TOLERANCE);
    const read = files.bytesRead.get("model.safetensors") ?? 0;
    expect(read).toBeLessThan(2 * model.weights.length + 65536); // what lies beside packed weights comes twice at most
  });

  test("nor does it matter in which order and in which shard its tensors are", async () => {
    const reversed = tensorsOf(model.weights).reverse();
    const shards = [0, 1].map((shard) => reversed.filter((_, index) => index % 2 === shard));
    const names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    const map = shards.flatMap((tensors, shard) => tensors.map((tensor) => [tensor.name, at(names, shard)]));
    const files = folder(model, {
      "model.safetensors.index.json": new TextEncoder().encode(JSON.stringify({ weight_map: Object.fromEntries(map) })),
      [at(names, 0)]: fileOf(at(shards, 0)),
      [at(names, 1)]: fileOf(at(shards, 1)),
    });
    await expectLogprobs(await runFolder(files, F32), model.cases, TOLERANCE);
  });
});

test("small tensors that lie together are read together", async () => {
  const model = packedModel("gptq");
  const files = folder(model, { "model.safetensors": model.weights });
  await runFolder(files, F32);
  // The header, the weights, and all scales, zero points and orders at once: fewer than the 14 matrices.
  expect(files.streamsOpened.get("model.safetensors")).toBeLessThan(6);
});

test("symmetric GPTQ is held as q4 without being rounded again", async () => {
  const model = packedModel("gptq");
  const tensors = tensorsOf(model.weights);
  for (const { name, bytes } of tensors) {
    if (name.endsWith(".qzeros")) bytes.fill(0x77); // 8, less one
    if (name.endsWith(".g_idx")) bytes.forEach((_, at) => (bytes[at] = at % 4 === 0 ? at >> 7 : 0)); // input / 32
  }
  const files = folder(model, { "model.safetensors": fileOf(tensors) });
  const { spec, quantization } = await readModelParts(files, new AbortController().signal);
  const load = async (format: "q4" | undefined) => {
    const rows = new Map<string, Float32Array[]>();
    const take = (name: string, values: Float32Array) => rows.set(name, [...(rows.get(name) ?? []), values.slice()]);
    const kept: string[] = [];
    const columnsOf = (name: string) =>
      at(
        spec.tensors.filter((tensor) => tensor.name === name),
        0,
      ).shape[1];
    const sink: WeightSink = {
      kept: {
        formatOf: () => format,
        write: (name, _, count, packed) => {
          kept.push(name);
          take(name, unpackRows("q4", packed, count, columnsOf(name)));
        },
      },
      write: (name, _, values) => take(name, values),
      drained: () => Promise.resolve(),
    };
    const checkpoint = await openCheckpoint(files, spec, undefined, quantization);
    const { parameterCount } = await loadWeights({ files, spec, checkpoint, sink });
    return { rows, kept, parameterCount };
  };
  const [q4, f32] = [await load("q4"), await load(undefined)];
  expect(q4.rows).toEqual(f32.rows);
  expect(q4.parameterCount).toBe(f32.parameterCount);
  expect(q4.kept).toHaveLength(14);
  expect(f32.kept).toEqual([]);
});

describe("through the public API", () => {
  const model = packedModel("mlx");
  const tokenizer = readFileSync(`${goldenFolder("qwen2")}tokenizer.json`);
  const files = (config: Record<string, unknown>, weights = model.weights) =>
    new Map<string, Uint8Array>([
      ["config.json", new TextEncoder().encode(JSON.stringify(config))],
      ["model.safetensors", weights],
      ["tokenizer.json", tokenizer],
    ]);
  const reference = { backend: "reference", allowReference: true, worker: false } as const;

  test("info says what the checkpoint held, and how it is held now", async () => {
    const generator = await TextGenerator.load(modelFolder(files(model.config)), { ...reference, dtype: "q8" });
    expect(generator.info.dtype).toBe("q8");
    expect(generator.info.reason).toContain("the checkpoint holds MLX, 4 bits in groups of 32, decoded and held as q8");
    expect((await generator.generate([5, 17], { maxNewTokens: 3 }).end).usage.completionTokens).toBe(3);
    await generator.dispose();
  });

  async function refusal(config: Record<string, unknown>, weights?: Uint8Array): Promise<WordloomError> {
    const loading = TextGenerator.load(modelFolder(files(config, weights)), reference);
    return loading.then(
      () => expect.fail("it was loaded"),
      (error: unknown) => error as WordloomError, // its code is looked at
    );
  }

  test("a quantization that is not read is refused before any weight", async () => {
    const { code, message } = await refusal({
      ...packedModel("awq").config,
      quantization_config: { quant_method: "aqlm" },
    });
    expect(code).toBe("config-unsupported");
    expect(message).toContain(`quant_method is "aqlm"`);
  });

  test("a config that belongs to other weights is refused from the headers", async () => {
    const { code, message } = await refusal({ ...model.config, quantization: { group_size: 32, bits: 8 } });
    expect(code).toBe("tensor-mismatch");
    expect(message).toBe(
      "model.safetensors: model.embed_tokens.weight is U32 [320, 8]; [320, 64] quantized as config.json says has it as U32 [320, 16]",
    );
  });

  test("packed weights whose config.json says nothing of it", async () => {
    const config = { ...packedModel("gptq").config, quantization_config: null };
    const { code, message, remedy } = await refusal(config, packedModel("gptq").weights);
    expect(code).toBe("tensor-missing");
    expect(message).toContain("q_proj.weight is not in model.safetensors");
    expect(message).toContain("; model.layers.0.self_attn.q_proj.qweight is");
    expect(remedy).toContain("config.json does not say how");
  });

  test("a scale that is NaN is found in the weights that it makes", async () => {
    const tensors = tensorsOf(model.weights);
    const scales = tensors.find(({ name }) => name === "model.layers.1.mlp.up_proj.scales");
    scales?.bytes.set([0, 0x7e], 2 * 2 * 5); // row 5, the first of its two groups
    const { code, message } = await refusal(model.config, fileOf(tensors));
    expect(code).toBe("file-invalid");
    expect(message).toBe("model.safetensors: model.layers.1.mlp.up_proj.weight[5, 0] is NaN; weights must be finite");
  });
});
