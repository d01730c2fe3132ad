/** Architectures that people try, and that are refused with the reason rather than as unknown. */

const EXPERTS = "it is a mixture of experts, and a decoder here has one MLP a layer";
const VISION = "it reads pictures or sound, too; only models of text alone run here";
const STATE_SPACE = "its layers keep a recurrent state (state-space, linear attention), which no kernel here does";
const ENCODER = "it has an encoder, and does not write text token by token from a prompt alone";
const OTHER = "its layers have parts that no operation here computes";

const REASONS: readonly (readonly [reason: string, modelTypes: string])[] = [
  [
    EXPERTS,
    `deepseek_v2 deepseek_v3 dbrx ernie4_5_moe flex_olmo glm4_moe gpt_oss granitemoe granitemoeshared hunyuan_v1_moe
    lfm2_moe minimax mixtral olmoe phimoe qwen2_moe qwen3_moe`,
  ],
  [
    VISION,
    `aya_vision florence2 fuyu gemma3 gemma3n gemma4 glm4v idefics2 idefics3 internvl kosmos-2 lfm2_vl llama4 llava
    llava_next llava_onevision mistral3 mllama moondream paligemma phi3_v phi4_multimodal phi4mm pixtral qwen2_5_omni
    qwen2_5_vl qwen2_audio qwen2_vl qwen3_vl smolvlm whisper`,
  ],
  [
    STATE_SPACE,
    `bamba falcon_h1 falcon_mamba granitemoehybrid jamba kimi_linear mamba mamba2 nemotron_h qwen3_5 qwen3_next
    recurrent_gemma rwkv rwkv5 rwkv6 rwkv7 xlstm zamba zamba2`,
  ],
  [
    ENCODER,
    "albert bart bert deberta-v2 distilbert electra marian mbart modernbert mt5 pegasus roberta t5 xlm-roberta",
  ],
  [OTHER, "bitnet bloom gemma3n_text gemma4_text mpt openelm"],
];

/** Why `modelType` cannot run here; undefined where nothing is known of it. */
export function unsupportedReason(modelType: string): string | undefined {
  return REASONS.find(([, modelTypes]) => modelTypes.split(/\s+/).includes(modelType))?.[0];
}
