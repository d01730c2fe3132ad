/** What each architecture's config.json may say: defaults, switches, refusals, names. Numbers: golden.test.ts. */
import { describe, expect, test } from "vitest";
import { WordloomError } from "../errors";
import { attentionIn } from "../testing/attention-in";
import {
  GOLDEN_MODELS,
  type GoldenModel,
  goldenFolder,
  readCheckpoint,
  readFolderJson,
} from "../testing/golden-models";
import type { DecoderSpec, LayerSpec } from "./decoder-spec";
import { readModelConfig } from "./registry";

type Config = Record<string, unknown>;

/** A golden config.json with some keys changed; undefined removes one. */
function specOf(model: GoldenModel, changes: Config = {}): DecoderSpec {
  const config = { ...readFolderJson(goldenFolder(model), "config.json"), ...changes };
  const kept = Object.entries(config).filter(([, value]) => value !== undefined);
  return readModelConfig(Object.fromEntries(kept), undefined).spec;
}

const layersOf = (...spec: Parameters<typeof specOf>): readonly LayerSpec[] => specOf(...spec).layers;
const windows = (...spec: Parameters<typeof specOf>) => layersOf(...spec).map((layer) => attentionIn(layer).window);
const firstLayer = (...spec: Parameters<typeof specOf>) => layersOf(...spec)[0];
const namesOf = (...spec: Parameters<typeof specOf>) => specOf(...spec).tensors.map(({ name }) => name);

function refusal(act: () => unknown): { code: string; message: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof WordloomError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("every architecture", () => {
  test.each(GOLDEN_MODELS)("%s: names every tensor of its checkpoint, and no other", (model) => {
    const named = new Set(specOf(model).tensors.map(({ from }) => from[0] ?? ""));
    expect([...named].toSorted()).toEqual([...readCheckpoint(goldenFolder(model)).keys()].toSorted());
  });

  test.each(GOLDEN_MODELS)("%s: every part of a fused tensor is bound once, and all of it", (model) => {
    const covered = new Map<string, { rows: number[]; of: number }>();
    for (const { from, shape, rows, transpose } of specOf(model).tensors) {
      if (rows === undefined) continue;
      const own = shape[0] === 1 && !transpose ? shape[1] : shape[0];
      const { size, stride } = rows.blocks ?? { size: own, stride: 0 };
      const taken = covered.get(from[0] ?? "") ?? { rows: [], of: rows.of };
      for (let row = 0; row < own; row++) {
        taken.rows.push(rows.first + Math.floor(row / size) * stride + (row % size));
      }
      covered.set(from[0] ?? "", taken);
    }
    for (const { rows, of } of covered.values()) {
      expect(rows.toSorted((a, b) => a - b)).toEqual(Array.from({ length: of }, (_, row) => row));
    }
  });

  test.each(GOLDEN_MODELS)("%s: a key from next year is refused by name", (model) => {
    expect(refusal(() => specOf(model, { next_years_factor: 0.5 }))).toEqual({
      code: "config-unsupported",
      message: "config.json: next_years_factor is 0.5; this key is not known here",
    });
    expect(specOf(model, { next_years_factor: null })).toEqual(specOf(model));
  });

  test.each(GOLDEN_MODELS)("%s: experts are refused by name", (model) => {
    expect(refusal(() => specOf(model, { num_local_experts: 8 })).message).toContain("num_local_experts is 8");
  });
});

describe("where a key is absent, transformers' default holds; null switches off", () => {
  test.each<[GoldenModel, Config, (number | undefined)[]]>([
    ["mistral", { sliding_window: undefined }, [4096, 4096, 4096]],
    ["mistral", { sliding_window: null }, [undefined, undefined, undefined]],
    ["gemma2", { sliding_window: undefined, layer_types: null }, [4096, undefined, 4096, undefined]],
    [
      "gemma3_text",
      { layer_types: undefined, _sliding_window_pattern: 2 },
      [16, undefined, 16, undefined, 16, undefined],
    ],
    ["gemma3_text", { layer_types: undefined, _sliding_window_pattern: undefined }, [16, 16, 16, 16, 16, undefined]],
    ["phi3", { sliding_window: undefined }, [undefined, undefined, undefined]],
    ["phi3", { sliding_window: 100 }, [100, 100, 100]],
    [
      "qwen3",
      { sliding_window: undefined, use_sliding_window: true, layer_types: undefined, max_window_layers: 1 },
      [undefined, 4096, 4096],
    ],
    [
      "smollm3",
      { sliding_window: 9, use_sliding_window: true, layer_types: undefined },
      [undefined, undefined, undefined, 9, undefined],
    ],
    ["gpt_neo", { window_size: undefined }, [undefined, 256, undefined, 256]],
  ])("%s %j: windows %j", (model, changes, expected) => expect(windows(model, changes)).toEqual(expected));

  test("gemma2 caps scores at 50 and logits at 30, gemma3_text nothing", () => {
    const absent = { attn_logit_softcapping: undefined, final_logit_softcapping: undefined };
    const off = { attn_logit_softcapping: null, final_logit_softcapping: null };
    const caps = (model: GoldenModel, changes: Config) => [
      attentionIn(firstLayer(model, changes)).softcap,
      specOf(model, changes).head.softcap,
    ];
    expect(caps("gemma2", absent)).toEqual([50, 30]);
    expect(caps("gemma2", off)).toEqual([undefined, undefined]);
    expect(caps("gemma3_text", absent)).toEqual([undefined, undefined]);
    expect(caps("gemma3_text", { final_logit_softcapping: 8 })).toEqual([undefined, 8]);
  });

  test("heads are tied or not, as each class has it", () => {
    const tied = GOLDEN_MODELS.filter((model) => specOf(model, { tie_word_embeddings: undefined }).head.tied);
    expect(tied).toEqual(["gpt2", "gemma3_text", "gemma2", "smollm3", "gpt_neo", "lfm2", "lfm2-bias"]);
  });

  test("key/value heads", () => {
    const count = (model: GoldenModel, heads: number, value: unknown) =>
      attentionIn(firstLayer(model, { num_attention_heads: heads, head_dim: 16, num_key_value_heads: value }))
        .keyValueHeadCount;
    expect(count("mistral", 32, undefined)).toBe(8);
    expect(count("mistral", 32, null)).toBe(32);
    expect(count("llama", 6, undefined)).toBe(6);
    expect(count("gemma2", 8, undefined)).toBe(4);
    expect(count("qwen2", 32, undefined)).toBe(32);
  });

  test("qwen3's heads have 128 elements", () => {
    expect(attentionIn(firstLayer("qwen3", { head_dim: undefined })).headDim).toBe(128);
  });

  test("granite scales nothing, not even scores", () => {
    const changes = {
      embedding_multiplier: undefined,
      residual_multiplier: undefined,
      attention_multiplier: undefined,
      logits_scaling: undefined,
    };
    expect(specOf("granite", changes)).toMatchObject({ embeddingScale: 1, head: { scale: 1 } });
    expect(firstLayer("granite", changes)).toMatchObject({ residualScale: 1, mixer: { scale: 1 } });
  });

  test("gpt_neo alternates, as its 12-layer default says", () => {
    const absent = { attention_types: undefined, attention_layers: undefined };
    expect(windows("gpt_neo", { ...absent, num_layers: 24 }).slice(0, 3)).toEqual([undefined, 16, undefined]);
  });
});

describe("switches", () => {
  test("no_rope_layers has 1 where a layer turns; without it, every no_rope_layer_interval-th does not", () => {
    const turning = (changes: Config) =>
      layersOf("smollm3", changes).map((layer) => attentionIn(layer).rope !== undefined);
    expect(turning({})).toEqual([true, true, true, false, true]);
    expect(turning({ no_rope_layers: [0, 1, 1, 1, 0] })).toEqual([false, true, true, true, false]);
    expect(turning({ no_rope_layers: null, no_rope_layer_interval: 2 })).toEqual([true, false, true, false, true]);
  });

  test("use_parallel_residual", () => {
    expect(firstLayer("gpt_neox", { use_parallel_residual: false })?.residual).toBe("sequential");
    expect(firstLayer("stablelm-parallel")?.mlpNorm).toBe("mixer_norm");
    expect(namesOf("stablelm-parallel")).not.toContain("layers.0.mlp_norm.weight");
    expect(namesOf("stablelm-parallel", { use_parallel_residual: false })).toContain("layers.0.mlp_norm.weight");
  });

  test.each<[GoldenModel, Config, number]>([
    ["qwen2", {}, 3],
    ["qwen3", { attention_bias: true }, 4],
    ["olmo2", { attention_bias: true }, 4],
    ["gemma3_text", { attention_bias: true }, 4],
    ["gpt_neox", { attention_bias: false }, 0],
    ["stablelm", { use_qkv_bias: false }, 0],
    ["phi", {}, 4],
    ["gpt_neo", {}, 1],
  ])("%s %j has %i biases in a layer's attention", (model, changes, count) => {
    const biases = namesOf(model, changes).filter((name) => /^layers\.0\.(q|k|v|output)\.bias$/.test(name));
    expect(biases.length).toBe(count);
  });

  test("lfm2's layers are convolutions but for those that layer_types or full_attn_idxs name; without both, none is", () => {
    const attending = (changes: Config) => layersOf("lfm2", changes).map(({ mixer }) => mixer.kind === "attention");
    expect(attending({})).toEqual([false, true, false, false, true]);
    const types = { layer_types: undefined };
    expect(attending({ ...types, full_attn_idxs: [0, 3] })).toEqual([true, false, false, true, false]);
    expect(attending(types)).toEqual(Array(5).fill(true));
    const { mixer } = firstLayer("lfm2", { conv_L_cache: undefined }) ?? {};
    expect(mixer).toEqual({ kind: "convolution", taps: 3, bias: false });
    expect(
      namesOf("lfm2", { conv_bias: true }).filter((name) => /^layers\.0\.(?!mlp|mixer).*bias$/.test(name)),
    ).toEqual(
      ["input_gate", "output_gate", "convolved", "convolution", "convolution_output"].map(
        (name) => `layers.0.${name}.bias`,
      ),
    );
  });

  // transformers' own: int(2 · size / 3), then times the factor, rounded up to a multiple.
  test.each<[Config, number]>([
    [{}, 96],
    [{ block_ff_dim: 6656, block_multiple_of: undefined, block_ffn_dim_multiplier: undefined }, 4608],
    [{ intermediate_size: 10240, block_multiple_of: 256, block_ffn_dim_multiplier: 1 }, 6912],
    [{ block_ffn_dim_multiplier: null }, 80],
    [{ block_auto_adjust_ff_dim: false }, 120],
    [{ block_auto_adjust_ff_dim: undefined, block_ff_dim: 100 }, 80],
  ])("lfm2's MLP: %j is %i wide", (changes, width) => {
    expect(firstLayer("lfm2", changes)?.mlp.intermediateSize).toBe(width);
  });

  test("phi's head has a bias, tied or not", () => {
    expect(namesOf("phi")).toContain("head.weight");
    expect(namesOf("phi")).toContain("head.bias");
    expect(namesOf("phi", { tie_word_embeddings: true })).toContain("head.bias");
    expect(namesOf("phi", { tie_word_embeddings: true })).not.toContain("head.weight");
  });
});

describe("keys that published files of these models have, and that say nothing more, change nothing", () => {
  test.each<[GoldenModel, Config]>([
    // SmolLM2
    ["llama", { is_llama_config: true, rope_interleaved: false, "transformers.js_config": { dtype: "q4" } }],
    // Gemma 2 9B
    ["gemma2", { cache_implementation: "hybrid", hidden_act: "gelu", sliding_window_size: 16 }],
    // Phi-4-mini
    ["phi3", { full_attn_mod: 1, interpolate_factor: 1, lm_head_bias: false, mlp_bias: false }],
    // Qwen 2.5 distills
    ["qwen2", { use_mrope: false, sliding_window: 4096, max_window_layers: 21 }],
    // SmolLM3
    ["smollm3", { pretraining_tp: 2, max_window_layers: 28 }],
    // TinyStories
    ["gpt_neo", { gradient_checkpointing: false, summary_first_dropout: 0.1, embed_dropout: 0.1 }],
    // LFM2, as first published
    [
      "lfm2",
      {
        ...{ block_dim: 48, conv_dim: 48, conv_dim_out: 48, num_heads: 4, block_norm_eps: 1e-5 },
        ...{ block_use_swiglu: true, use_pos_enc: true, block_use_xavier_init: true, conv_use_xavier_init: true },
        ...{ block_mlp_init_scale: 1, block_out_init_scale: 1, theta: 1e6, tie_embedding: true, block_ff_dim: 120 },
        full_attn_idxs: [1, 4],
      },
    ],
    // Stable LM 2
    ["stablelm", { rotary_scaling_factor: 1 }],
  ])("%s: %j", (model, changes) => {
    expect(specOf(model, changes)).toEqual(specOf(model));
  });

  test.each<[GoldenModel, Config]>([
    ["gemma2", { sliding_window_size: 8 }],
    ["phi3", { interpolate_factor: 2 }],
    ["phi3", { mlp_bias: true }],
    ["stablelm", { rotary_scaling_factor: 2 }],
    ["lfm2", { conv_dim: 64 }],
    ["lfm2", { conv_dim_out: 64 }],
    ["lfm2", { block_dim: 64 }],
    ["lfm2", { num_heads: 8 }],
    ["lfm2", { block_norm_eps: 1e-6 }],
    ["lfm2", { block_use_swiglu: false }],
    ["lfm2", { use_pos_enc: false }],
    ["lfm2", { theta: 5e5 }],
    ["lfm2", { tie_embedding: false }],
    ["lfm2", { hidden_act: "gelu" }],
    ["lfm2", { num_experts: 4 }],
  ])("with another value, %s: %j is refused", (model, changes) => {
    expect(refusal(() => specOf(model, changes)).code).toBe("config-unsupported");
  });
});

describe("what is understood at one value only, or cannot be, is refused by name", () => {
  test.each<[GoldenModel, Config, string]>([
    ["mistral", { attention_bias: true }, "attention_bias is true; supported: false"],
    ["mistral", { layer_types: Array(3).fill("full_attention") }, "layer_types is"],
    ["phi3", { attention_bias: true }, "attention_bias is true"],
    ["gemma2", { use_bidirectional_attention: true }, "use_bidirectional_attention is true"],
    ["gemma3_text", { layer_types: Array(6).fill("chunked_attention") }, 'layer_types is "chunked_attention"'],
    ["gemma3_text", { layer_types: ["full_attention"] }, "1 entries; 6 are expected"],
    ["gemma2", { sliding_window: null }, "sliding_attention needs a sliding_window"],
    ["gemma3_text", { attn_logit_softcapping: 50 }, "attn_logit_softcapping is 50; supported: null"],
    ["gemma2", { attn_logit_softcapping: 0 }, "attn_logit_softcapping is 0"],
    ["stablelm", { qk_layernorm: true }, "qk_layernorm is true; supported: false"],
    ["phi", { qk_layernorm: true }, "qk_layernorm is true"],
    ["phi", { hidden_act: "relu" }, 'hidden_act is "relu"; supported: silu'],
    ["smollm3", { no_rope_layers: [1, 1] }, "2 entries; 5 are expected"],
    ["smollm3", { no_rope_layers: [1, 1, 1, 1, 2] }, "no_rope_layers is 2"],
    ["granite", { logits_scaling: 0 }, "logits_scaling is 0"],
    ["gpt_neo", { num_heads: 5 }, "num_heads is 5; it does not divide hidden_size, 48"],
    ["gpt_neo", { attention_types: [[["global"], 4]] }, "attention_types is set, too, and says something else"],
    [
      "gpt_neo",
      { attention_types: [[["global", "local"], 3]], attention_layers: null },
      "it says 6 layers; num_layers is 4",
    ],
    ["gpt_neo", { attention_types: [[["global"], 1e9]] }, 'attention_types is [[["global"],1000000000]]'],
    ["gpt_neo", { attention_types: "global" }, "a list is expected"],
    ["gpt_neo", { attention_layers: ["global", "axial", "global", "local"] }, 'attention_layers is "axial"'],
    ["qwen2", { use_mrope: true }, "use_mrope is true"],
    ["lfm2", { layer_types: Array(5).fill("sliding_attention") }, 'layer_types is "sliding_attention"'],
    ["lfm2", { full_attn_idxs: [0] }, "layer_types is set, too, and says something else"],
    ["lfm2", { full_attn_idxs: [1, 5] }, "a list of layers, 0 to 4, is expected"],
    ["lfm2", { conv_L_cache: 0 }, "conv_L_cache is 0; a number from 1 to 64 is expected"],
    ["lfm2", { block_ffn_dim_multiplier: 0 }, "block_ffn_dim_multiplier is 0"],
    ["lfm2", { intermediate_size: undefined }, "config.json has no block_ff_dim"],
  ])("%s: %j", (model, changes, message) => {
    const refused = refusal(() => specOf(model, changes));
    expect(refused.code).toMatch(/^config-(unsupported|invalid)$/);
    expect(refused.message).toContain(message);
  });
});
