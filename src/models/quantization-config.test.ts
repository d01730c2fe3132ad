import { describe, expect, test } from "vitest";
import type { WordloomError } from "../errors";
import { ConfigReader } from "./config-reader";
import { describeQuantization, readQuantization, type Quantization } from "./quantization-config";

function read(config: Record<string, unknown>): Quantization | undefined {
  return readQuantization(ConfigReader.from(config, "config.json"));
}

const quantized = (quantization_config: Record<string, unknown>) => read({ quantization_config });

/** The one group of a compressed-tensors config. */
function compressed(format: string, weights: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const group = { weights, input_activations: null, output_activations: null, targets: ["Linear"] };
  return { quant_method: "compressed-tensors", format, config_groups: { group_0: group }, ...more };
}

const W8 = { num_bits: 8, type: "int", symmetric: true, strategy: "channel", group_size: null, dynamic: false };
const W4 = { num_bits: 4, type: "int", symmetric: true, strategy: "group", group_size: 128 };
const FP8 = { num_bits: 8, type: "float", symmetric: true, strategy: "tensor" };
const BNB = {
  _load_in_4bit: true,
  _load_in_8bit: false,
  bnb_4bit_compute_dtype: "bfloat16",
  bnb_4bit_quant_storage: "uint8",
  bnb_4bit_quant_type: "nf4",
  bnb_4bit_use_double_quant: true,
  llm_int8_enable_fp32_cpu_offload: false,
  llm_int8_has_fp16_weight: false,
  llm_int8_skip_modules: null,
  llm_int8_threshold: 6,
  load_in_4bit: true,
  load_in_8bit: false,
  quant_method: "bitsandbytes",
};

describe("settings as published files spell them", () => {
  test.each([
    [
      "AutoGPTQ's",
      {
        bits: 4,
        damp_percent: 0.1,
        desc_act: true,
        group_size: 128,
        is_marlin_format: false,
        model_file_base_name: "model",
        model_name_or_path: null,
        quant_method: "gptq",
        static_groups: false,
        sym: true,
        true_sequential: true,
      },
      { scheme: "gptq", bits: 4, groupSize: 128, zeroOffset: 1, ordered: true },
      "GPTQ, 4 bits in groups of 128",
    ],
    [
      "GPTQModel's second format, one scale for all inputs",
      {
        bits: 8,
        checkpoint_format: "gptq_v2",
        desc_act: false,
        dynamic: { "-:lm_head": {} },
        group_size: -1,
        lm_head: false,
        meta: { quantizer: ["gptqmodel:2.0.0"] },
        pack_dtype: "int32",
        quant_method: "gptq",
        sym: true,
      },
      { scheme: "gptq", bits: 8, groupSize: undefined, zeroOffset: 0, ordered: false },
      "GPTQ, 8 bits",
    ],
    [
      "AutoAWQ's",
      { bits: 4, group_size: 64, modules_to_not_convert: null, quant_method: "awq", version: "GEMM", zero_point: true },
      { scheme: "awq", groupSize: 64 },
      "AWQ, 4 bits in groups of 64",
    ],
    ["bitsandbytes'", BNB, { scheme: "bnb-4bit", type: "nf4" }, "bitsandbytes nf4"],
    [
      "bitsandbytes' before it wrote its name",
      { load_in_8bit: true, llm_int8_threshold: 6 },
      { scheme: "bnb-int8" },
      "bitsandbytes int8",
    ],
    [
      "compressed-tensors' W8A8, whose activations stay as they are here",
      compressed("int-quantized", W8, {
        ignore: ["lm_head"],
        kv_cache_scheme: null,
        quantization_status: "compressed",
        sparsity_config: {},
        transform_config: {},
        global_compression_ratio: 1.5,
        version: "0.11.0",
      }),
      { scheme: "scaled", title: "compressed-tensors int8", block: [1, Infinity], zeroPoint: false },
      "compressed-tensors int8",
    ],
    [
      "compressed-tensors' fp8",
      compressed("float-quantized", FP8),
      { scheme: "scaled", title: "compressed-tensors fp8 (e4m3)", block: [Infinity, Infinity], zeroPoint: false },
      "compressed-tensors fp8 (e4m3)",
    ],
    [
      "compressed-tensors' W4A16",
      compressed("pack-quantized", { ...W4, actorder: "weight" }),
      { scheme: "compressed-pack", bits: 4, groupSize: 128, symmetric: true, ordered: false },
      "compressed-tensors, 4 bits in groups of 128",
    ],
    [
      "fp8 in blocks",
      { activation_scheme: "dynamic", fmt: "e4m3", quant_method: "fp8", weight_block_size: [128, 128] },
      { scheme: "scaled", title: "fp8 (e4m3) in blocks of 128 x 128", block: [128, 128], zeroPoint: false },
      "fp8 (e4m3) in blocks of 128 x 128",
    ],
  ] as const)("%s", (_, config, expected, words) => {
    const quantization = quantized(config);
    expect(quantization).toEqual(expected);
    expect(quantization === undefined ? undefined : describeQuantization(quantization)).toBe(words);
  });

  test("MLX's, under either key, with modules of their own", () => {
    const own = { group_size: 64, bits: 4, mode: "affine", "model.embed_tokens": { group_size: 32, bits: 8 } };
    const settings = { ...own, "model.layers.0.mlp.down_proj": false, "model.layers.0.mlp.up_proj": true };
    const expected = { scheme: "mlx", bits: 4, groupSize: 64 };
    for (const config of [
      { quantization: settings },
      { quantization_config: settings },
      { quantization: settings, quantization_config: settings },
    ]) {
      const quantization = read(config);
      expect(quantization).toMatchObject(expected);
      expect(quantization?.scheme === "mlx" ? [...quantization.modules] : []).toEqual([
        ["model.embed_tokens", { bits: 8, groupSize: 32 }],
      ]);
    }
  });

  test("without any there is none", () => {
    expect(read({})).toBeUndefined();
    expect(read({ quantization_config: null })).toBeUndefined();
  });
});

describe("what is not supported is refused by name, with what can be done", () => {
  test.each(["hqq", "aqlm", "eetq", "quanto", "vptq", "torchao", "mxfp4", "modelopt", "auto-round", "toString"])(
    "%s",
    (method) => {
      const error = refusal(() => quantized({ quant_method: method, bits: 4 }));
      expect(error.code).toBe("config-unsupported");
      expect(error.message).toContain(`quant_method is "${method}"; quantizations that are read: gptq, awq`);
      expect(error.remedy).toContain("Choose the unquantized checkpoint of this model, a GGUF file of it");
    },
  );

  const gptq = { quant_method: "gptq", bits: 4, group_size: 128 };
  const awq = { quant_method: "awq", bits: 4, group_size: 128, zero_point: true, version: "gemm" };
  const fp8 = { quant_method: "fp8" };
  test.each([
    ["bits is 5", { ...gptq, bits: 5 }],
    [`checkpoint_format is "marlin"`, { ...gptq, checkpoint_format: "marlin" }],
    [`dynamic is {"+:.*down.*"`, { ...gptq, dynamic: { "+:.*down.*": { bits: 8 } } }],
    [`pack_dtype is "int16"`, { ...gptq, pack_dtype: "int16" }],
    ["rotation is true", { ...gptq, rotation: true }],
    [`version is "gemv"`, { ...awq, version: "GEMV" }],
    ["zero_point is false", { ...awq, zero_point: false }],
    ["bits is 8", { ...awq, bits: 8 }],
    [`bnb_4bit_quant_storage is "bfloat16"`, { ...BNB, bnb_4bit_quant_storage: "bfloat16" }],
    [`bnb_4bit_quant_type is "int4"`, { ...BNB, bnb_4bit_quant_type: "int4" }],
    [`fmt is "e5m2"`, { ...fp8, fmt: "e5m2" }],
    [`format is "nvfp4-pack-quantized"`, compressed("nvfp4-pack-quantized", { ...W4, type: "float" })],
    [`format is "marlin-24"`, compressed("marlin-24", W4)],
    [`type is "float"`, compressed("pack-quantized", { ...W4, type: "float" })],
    [`type is "int"`, compressed("float-quantized", W8)],
    ["num_bits is 4", compressed("int-quantized", { ...W8, num_bits: 4 })],
    [`strategy is "token"`, compressed("int-quantized", { ...W8, strategy: "token" })],
    [`actorder is "group"`, compressed("int-quantized", { ...W8, actorder: "group" })],
    [`kv_cache_scheme is {"num_bits":8}`, compressed("int-quantized", W8, { kv_cache_scheme: { num_bits: 8 } })],
    [
      `sparsity_config is {"format":"sparse`,
      compressed("int-quantized", W8, { sparsity_config: { format: "sparse" } }),
    ],
    [`config_groups is ["a","b"]; 2 groups`, { ...compressed("int-quantized", W8), config_groups: { a: {}, b: {} } }],
  ])("%s", (message, config) => {
    const error = refusal(() => quantized(config));
    expect(error.message).toContain(message);
    expect(error.code).toBe("config-unsupported");
  });

  test.each([
    [`mode is "mxfp4"`, { group_size: 32, bits: 4, mode: "mxfp4" }],
    ["bits is 7", { group_size: 32, bits: 7 }],
    ["experts is 3", { group_size: 32, bits: 4, experts: 3 }],
    [`mode is "nvfp4"`, { group_size: 32, bits: 4, "model.embed_tokens": { mode: "nvfp4" } }],
  ])("MLX: %s", (message, quantization) => {
    const error = refusal(() => read({ quantization }));
    expect(error.message).toContain(message);
    expect(error.code).toBe("config-unsupported");
  });
});

describe("values that cannot be right", () => {
  test.each([
    ["group_size is 0", { quant_method: "gptq", bits: 4, group_size: 0 }],
    ["group_size is -2", { quant_method: "awq", group_size: -2 }],
    ["group_size is 1e+30", { quant_method: "awq", group_size: 1e30 }],
    ["group_size is 1.5", { quant_method: "gptq", bits: 4, group_size: 1.5 }],
    ["has no bits", { quant_method: "gptq" }],
    [`quant_method is ["gptq"]`, { quant_method: ["gptq"] }],
    ["load_in_4bit is true; load_in_8bit is true", { ...BNB, load_in_8bit: true }],
    ["weight_block_size is [128]", { quant_method: "fp8", weight_block_size: [128] }],
    ["weight_block_size is [0,128]", { quant_method: "fp8", weight_block_size: [0, 128] }],
    ["has no format", { quant_method: "compressed-tensors" }],
    [
      "group_0 is undefined; settings for weights",
      { ...compressed("int-quantized", W8), config_groups: { group_0: {} } },
    ],
    ["has no group_size", { bits: 4 }],
  ])("%s", (message, config) => {
    const error = refusal(() => quantized(config));
    expect(error.message).toContain(message);
    expect(error.code).toBe("config-invalid");
  });

  test("a config that is no object", () => {
    expect(refusal(() => read({ quantization_config: "gptq" })).code).toBe("config-invalid");
    expect(refusal(() => read({ quantization: 4 })).code).toBe("config-invalid");
  });
});

function refusal(act: () => unknown): WordloomError {
  try {
    act();
  } catch (error) {
    return error as WordloomError; // whatever it is, the test looks at its code
  }
  throw new Error("nothing was refused");
}
