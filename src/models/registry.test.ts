import { describe, expect, test } from "vitest";
import { WordloomError } from "../errors";
import { attentionIn } from "../testing/attention-in";
import { GOLDEN_MODELS, goldenFolder, readFolderJson } from "../testing/golden-models";
import { countParameters } from "./decoder";
import { ARCHITECTURES, readModelConfig } from "./registry";
import { unsupportedReason } from "./unsupported";

const golden = (model: (typeof GOLDEN_MODELS)[number], file = "config.json") =>
  readFolderJson(goldenFolder(model), file);
const read = (config: Record<string, unknown>) => readModelConfig(config, undefined).spec;
const llama = (changes: Record<string, unknown> = {}) => read({ ...golden("llama"), ...changes });
const gpt2 = (changes: Record<string, unknown> = {}) => read({ ...golden("gpt2"), ...changes });

function refusal(act: () => unknown): { code: string; message: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof WordloomError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("nothing was refused");
}

test.each(GOLDEN_MODELS)("the three spellings of %s give one spec", (model) => {
  const spec = read(golden(model));
  expect(read(golden(model, "config.v5.json"))).toEqual(spec);
  expect(read(golden(model, "config.early.json"))).toEqual(spec);
});

test.each([
  ["llama", 249_504],
  ["llama-rope3", 328_320],
  ["gpt2", 186_944],
  ["qwen2", 170_816],
  ["qwen3", 187_008],
  ["gemma3_text", 255_936],
  ["phi3", 170_432],
  ["olmo2", 170_720],
  ["gpt_neox", 191_040],
] as const)("%s has %i parameters", (model, count) => expect(countParameters(read(golden(model)))).toBe(count));

describe("model_type", () => {
  test("that is not supported is refused by its name, with those that are", () => {
    expect(refusal(() => llama({ model_type: "next_year" }))).toEqual({
      code: "model-unsupported",
      message: `model_type is "next_year"; supported: ${Object.keys(ARCHITECTURES).join(", ")}`,
    });
    expect(refusal(() => llama({ model_type: "constructor" })).code).toBe("model-unsupported");
  });

  test.each([
    ["mixtral", "mixture of experts"],
    ["qwen3_moe", "mixture of experts"],
    ["gemma3", "pictures"],
    ["qwen2_5_vl", "pictures"],
    ["mamba", "recurrent state"],
    ["qwen3_next", "recurrent state"],
    ["t5", "encoder"],
    ["lfm2_moe", "mixture of experts"],
    ["lfm2_vl", "pictures"],
    ["mpt", "no operation here computes"],
  ])("%s is refused with the reason", (model_type, reason) => {
    const { code, message } = refusal(() => llama({ model_type }));
    expect(code).toBe("model-unsupported");
    expect(message).toMatch(new RegExp(`^model_type is "${model_type}", and .*${reason}.*; supported: gemma2, `));
  });

  test("that is supported is not among the refused ones", () => {
    expect(Object.keys(ARCHITECTURES).filter((name) => unsupportedReason(name) !== undefined)).toEqual([]);
  });

  test.each([[undefined], [null], [7], [["llama"]]])("%j is an invalid config", (model_type) => {
    expect(refusal(() => llama({ model_type })).code).toBe("config-invalid");
  });

  test.each([[null], [[]], ["llama"], [3], [undefined]])("a config.json that holds %j is invalid", (config) => {
    expect(refusal(() => readModelConfig(config, undefined)).code).toBe("config-invalid");
  });
});

// A public report: head_dim null, absent, or hidden by integer division.
describe("head sizes", () => {
  const withoutHeadDim = golden("llama");
  delete withoutHeadDim["head_dim"];

  test.each([
    ["head_dim null", { ...golden("llama"), head_dim: null }],
    ["head_dim absent", withoutHeadDim],
    [
      "rope_scaling absent, nulls elsewhere",
      { ...golden("llama"), rope_scaling: undefined, pad_token_id: null, attention_bias: null, mlp_bias: null },
    ],
  ])("%s changes nothing", (_name, config) => expect(read(config)).toEqual(llama()));

  test("num_key_value_heads null means as many as heads", () => {
    const spec = llama({ num_key_value_heads: null });
    expect(attentionIn(spec.layers[0]).keyValueHeadCount).toBe(6);
    expect(spec.tensors.find(({ name }) => name === "layers.0.k.weight")?.shape).toEqual([96, 96]);
  });

  test("head_dim may differ from hidden_size / heads", () => {
    const shapes = llama({ head_dim: 32 }).tensors.map(({ name, shape }) => `${name} ${shape}`);
    expect(shapes).toContain("layers.0.q.weight 192,96");
    expect(shapes).toContain("layers.0.k.weight 64,96");
    expect(shapes).toContain("layers.0.output.weight 96,192");
  });

  test.each([
    [
      { ...withoutHeadDim, num_attention_heads: 7, num_key_value_heads: 7 },
      "num_attention_heads is 7; it does not divide hidden_size, 96",
    ],
    [{ ...golden("llama"), num_attention_heads: 0 }, "num_attention_heads is 0; a number from 1 to 1024 is expected"],
    [
      { ...golden("llama"), num_key_value_heads: 4 },
      "num_key_value_heads is 4; it does not divide num_attention_heads, 6",
    ],
    [{ ...golden("llama"), head_dim: 15 }, "head_dim is 15; rotary embedding needs an even number"],
    [{ ...golden("gpt2"), n_head: 5 }, "n_head is 5; it does not divide n_embd, 64"],
  ])("%#: what cannot be is refused with its numbers", (config, message) => {
    expect(refusal(() => read(config))).toEqual({ code: "config-invalid", message: `config.json: ${message}` });
  });
});

describe("values", () => {
  test.each([
    ["hidden_size", -96],
    ["hidden_size", 2 ** 40],
    ["hidden_size", 96.5],
    ["hidden_size", "96"],
    ["hidden_size", NaN],
    ["num_hidden_layers", 0],
    ["num_hidden_layers", 1e9],
    ["vocab_size", Infinity],
    ["intermediate_size", [160]],
    ["max_position_embeddings", 0],
    ["rms_norm_eps", 0],
    ["rms_norm_eps", -1e-5],
    ["rms_norm_eps", "1e-5"],
    ["rope_theta", NaN],
    ["rope_theta", 0],
    ["tie_word_embeddings", "yes"],
    ["attention_bias", 1],
    ["hidden_act", 3],
    ["eos_token_id", -1],
    ["eos_token_id", [0, "</s>"]],
    ["rope_scaling", "linear"],
    ["layer_types", "full_attention"],
  ])("%s %j is invalid", (key, value) => {
    const { code, message } = refusal(() => llama({ [key]: value }));
    expect(code).toBe("config-invalid");
    expect(message).toMatch(new RegExp(`^config.json: ${key} |^config.json: ${key} is `));
  });

  test.each(["hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "vocab_size"])(
    "without %s there is no model",
    (key) => {
      expect(refusal(() => llama({ [key]: undefined })).message).toBe(`config.json has no ${key}`);
      expect(refusal(() => llama({ [key]: null })).code).toBe("config-invalid");
    },
  );
});

describe("keys that would change the numbers are refused by name", () => {
  test.each([
    ["sliding_window", 4096],
    ["attn_logit_softcapping", 50],
    ["a_key_from_next_year", false],
    ["pretraining_tp", 2],
    ["rope_interleaved", true],
    ["partial_rotary_factor", 0.5],
    ["is_encoder_decoder", true],
    ["hidden_act", "relu"],
    ["layer_types", ["full_attention", "sliding_attention", "full_attention"]],
  ])("llama: %s %j", (key, value) => {
    const { code, message } = refusal(() => llama({ [key]: value }));
    expect(code).toBe("config-unsupported");
    expect(message).toContain(`config.json: ${key} is `);
  });

  test.each([
    ["scale_attn_by_inverse_layer_idx", true],
    ["reorder_and_upcast_attn", true],
    ["scale_attn_weights", false],
    ["add_cross_attention", true],
    ["activation_function", "relu"],
    ["rope_theta", 10000],
  ])("gpt2: %s %j", (key, value) => {
    expect(refusal(() => gpt2({ [key]: value })).code).toBe("config-unsupported");
  });

  test("null, and what only training or other tasks use, is not refused", () => {
    const harmless = {
      sliding_window: null,
      torch_dtype: "bfloat16",
      attention_dropout: 0.1,
      _name_or_path: "x",
      use_cache: false,
    };
    expect(llama(harmless)).toEqual(llama());
    const task = { task_specific_params: { "text-generation": { do_sample: true } }, n_ctx: 256, summary_type: "mean" };
    expect(gpt2(task)).toEqual(gpt2());
  });
});

describe("rope settings", () => {
  const frequencies = (changes: Record<string, unknown>) =>
    attentionIn(llama(changes).layers[0]).rope?.inverseFrequencies;
  const linear = { rope_type: "linear", factor: 2 };

  test("both names of the type, and both places, say the same", () => {
    const expected = frequencies({})?.map((frequency) => frequency / 2);
    expect(frequencies({ rope_scaling: linear })).toEqual(expected);
    expect(frequencies({ rope_scaling: { type: "linear", factor: 2 } })).toEqual(expected);
    expect(frequencies({ rope_scaling: { ...linear, type: "linear" } })).toEqual(expected);
    expect(frequencies({ rope_parameters: { ...linear, rope_theta: 10000 } })).toEqual(expected);
    expect(frequencies({ rope_parameters: linear, rope_scaling: linear })).toEqual(expected);
  });

  test("theta counts, in both places", () => {
    expect(frequencies({ rope_theta: 500 })).toEqual(frequencies({ rope_parameters: { rope_theta: 500 } }));
    expect(frequencies({ rope_theta: 500 })).not.toEqual(frequencies({}));
  });

  test("a type that is not known is refused by name", () => {
    expect(refusal(() => frequencies({ rope_scaling: { rope_type: "proportional", factor: 2 } }))).toEqual({
      code: "config-unsupported",
      message:
        'config.json: rope_scaling: rope_type is "proportional"; ' +
        "supported: default, linear, dynamic, llama3, yarn, su, longrope",
    });
  });

  const llama3 = golden("llama-rope3")["rope_scaling"] as Record<string, unknown>; // an object in that file
  test.each([
    ["config-unsupported", { rope_scaling: { ...linear, attention_factor: 2 } }, /rope_scaling: attention_factor is 2/],
    ["config-unsupported", { rope_parameters: { ...linear, partial_rotary_factor: 0.5 } }, /partial_rotary_factor/],
    ["config-invalid", { rope_scaling: { ...linear, factor: 0 } }, /factor is 0/],
    ["config-invalid", { rope_scaling: { rope_type: "linear" } }, /rope_scaling has no factor/],
    ["config-invalid", { rope_scaling: { ...llama3, high_freq_factor: 1 } }, /more than low_freq_factor, 1/],
    ["config-invalid", { rope_scaling: { ...llama3, original_max_position_embeddings: null } }, /has no original_max/],
    ["config-invalid", { rope_parameters: linear, rope_scaling: llama3 }, /rope_parameters is set, too/],
  ])("%s for %j", (code, changes, message) => {
    const refused = refusal(() => frequencies(changes));
    expect(refused.code).toBe(code);
    expect(refused.message).toMatch(message);
  });
});

describe("tensor names", () => {
  test("untied heads and biases have tensors of their own; tied ones do not", () => {
    const names = (spec: ReturnType<typeof read>) => spec.tensors.map(({ name }) => name);
    expect(names(llama())).not.toContain("head.weight");
    expect(names(llama({ tie_word_embeddings: false }))).toContain("head.weight");
    expect(names(llama({ tie_word_embeddings: null }))).toContain("head.weight"); // transformers' default for Llama
    expect(names(gpt2())).not.toContain("head.weight"); // and for GPT-2
    expect(names(llama({ attention_bias: true })).filter((name) => name.endsWith("bias")).length).toBe(3 * 4);
    expect(names(llama({ mlp_bias: true })).filter((name) => name.endsWith("bias")).length).toBe(3 * 3);
  });

  test("gpt2 cuts q, k and v out of c_attn", () => {
    const binding = gpt2().tensors.find(({ name }) => name === "layers.1.k.bias");
    expect(binding).toEqual({
      name: "layers.1.k.bias",
      shape: [1, 64],
      from: ["transformer.h.1.attn.c_attn.bias", "h.1.attn.c_attn.bias"],
      transpose: false,
      rows: { first: 64, of: 192 },
    });
  });

  test("no name is bound twice", () => {
    for (const model of GOLDEN_MODELS) {
      const names = read(golden(model)).tensors.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

// A public report: lists of end tokens, in one file or the other.
describe("end tokens", () => {
  const endTokens = (config: unknown, generation?: Record<string, unknown>) =>
    readModelConfig({ ...golden("llama"), eos_token_id: config }, generation).endTokenIds;

  test.each([
    ["generation_config.json comes before config.json", 0, { eos_token_id: [0, 341] }, [0, 341]],
    ["a number is a list of one", 0, { eos_token_id: 341 }, [341]],
    ["config.json alone may have a list", [0, 341], undefined, [0, 341]],
    ["null in generation_config.json leaves config.json's", [5], { eos_token_id: null }, [5]],
    ["an empty list is a list", 0, { eos_token_id: [] }, []],
    ["null everywhere means none", null, { eos_token_id: null }, []],
  ])("%s", (_, config, generation, expected) => expect(endTokens(config, generation)).toEqual(expected));

  test("what is not an id is refused, with the file's name", () => {
    expect(refusal(() => endTokens(0, { eos_token_id: "</s>" }))).toEqual({
      code: "config-invalid",
      message: 'generation_config.json: eos_token_id is "</s>"; token ids are expected',
    });
  });
});

describe("suggested sampling", () => {
  const suggested = (generation?: Record<string, unknown>) =>
    readModelConfig(golden("llama"), generation).suggestedSampling;

  test("is what generation_config.json says, and no more", () => {
    expect(suggested({ do_sample: true, temperature: 0.6, top_p: 0.9, max_length: 4096 })).toEqual({
      temperature: 0.6,
      topP: 0.9,
    });
    expect(suggested({ top_k: 20, min_p: 0.05, repetition_penalty: 1.1 })).toEqual({
      topK: 20,
      minP: 0.05,
      repetitionPenalty: 1.1,
    });
    expect(suggested({ do_sample: false, temperature: 0.6 })).toBeUndefined();
    expect(suggested({ eos_token_id: 2 })).toBeUndefined();
    expect(suggested()).toBeUndefined();
  });

  test.each([{ temperature: -1 }, { top_p: 2 }, { top_k: "20" }])("%j is invalid", (generation) => {
    expect(refusal(() => suggested(generation)).code).toBe("config-invalid");
  });
});
