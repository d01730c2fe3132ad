"""Writes the golden checkpoints that llama.cpp had no part in: random weights, and what transformers computes from them.

Needs: pip install torch==2.13.0 transformers==5.18.0. Run in this folder; `python make_golden.py NAME …` writes only
those, and `rope.json` the frequencies of scaled RoPE. transformers' models run as they are, in float64: where their code asks for float32 (RoPE, softmax, norms), it
gets float64, too.
"""

import json
import math
import os
import shutil
import sys

import torch

SINGLE = torch.float32
torch.float32 = torch.float64  # before transformers is imported: its models name torch.float32
torch.float = torch.float64
torch.Tensor.float = torch.Tensor.double
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

import transformers  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402

TOKENIZER_FROM = "gpt_neox"  # 320 ids, the first three special
VOCAB = 320

SIZES = dict(
    vocab_size=VOCAB, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=512, bos_token_id=0, eos_token_id=0, pad_token_id=None,
)

# model_type, then the keys of config.json as transformers 4.57 spells them. LATER: keys that the first files lack.
MODELS = {
    "mistral": dict(SIZES, hidden_act="silu", rms_norm_eps=1e-5, rope_theta=10000.0, sliding_window=16, head_dim=16,
                    tie_word_embeddings=False),
    "gemma2": dict(SIZES, num_hidden_layers=4, hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6,
                   rope_theta=10000.0, head_dim=16, query_pre_attn_scalar=20, sliding_window=16,
                   attn_logit_softcapping=4.0, final_logit_softcapping=15.0, attention_bias=False,
                   tie_word_embeddings=True,
                   layer_types=["sliding_attention", "full_attention"] * 2),
    "smollm3": dict(SIZES, num_hidden_layers=5, hidden_act="silu", rms_norm_eps=1e-6, rope_theta=5000000.0,
                    rope_scaling=None, use_sliding_window=False, sliding_window=None, no_rope_layers=[1, 1, 1, 0, 1],
                    no_rope_layer_interval=4, attention_bias=False, mlp_bias=False, tie_word_embeddings=True,
                    layer_types=["full_attention"] * 5, pretraining_tp=2, max_window_layers=28),
    "granite": dict(SIZES, hidden_act="silu", rms_norm_eps=1e-5, rope_theta=10000.0, rope_scaling=None,
                    attention_bias=False, mlp_bias=False, embedding_multiplier=3.5, logits_scaling=0.4,
                    residual_multiplier=0.6, attention_multiplier=0.19, tie_word_embeddings=True),
    "stablelm": dict(SIZES, num_hidden_layers=2, hidden_act="silu", layer_norm_eps=1e-5, rope_theta=10000,
                     rope_scaling=None, use_qkv_bias=True, qk_layernorm=False, use_parallel_residual=False,
                     hidden_dropout=0.0, partial_rotary_factor=0.34, tie_word_embeddings=False),
    "stablelm-parallel": dict(SIZES, num_hidden_layers=2, hidden_act="silu", layer_norm_eps=1e-5, rope_theta=10000,
                              rope_scaling=None, use_qkv_bias=False, qk_layernorm=False, use_parallel_residual=True,
                              hidden_dropout=0.0, partial_rotary_factor=0.34, tie_word_embeddings=False),
    "gpt_neo": dict(vocab_size=VOCAB, hidden_size=48, num_layers=4, num_heads=4, max_position_embeddings=256,
                    intermediate_size=None, window_size=16, attention_types=[[["global", "local"], 2]],
                    attention_layers=["global", "local", "global", "local"], activation_function="gelu_new",
                    layer_norm_epsilon=1e-5, resid_dropout=0, embed_dropout=0, attention_dropout=0,
                    classifier_dropout=0.1, summary_type="cls_index", bos_token_id=0, eos_token_id=0),
    "phi": dict(SIZES, num_key_value_heads=None, hidden_act="gelu_new", layer_norm_eps=1e-5, rope_theta=10000.0,
                rope_scaling=None, partial_rotary_factor=0.5, qk_layernorm=False, resid_pdrop=0.0, embd_pdrop=0.0,
                tie_word_embeddings=False),
    "lfm2": dict(SIZES, num_hidden_layers=5, intermediate_size=120, norm_eps=1e-5, rope_theta=1000000.0, conv_L_cache=3,
                 conv_bias=False, block_multiple_of=16, block_ffn_dim_multiplier=1.1, block_auto_adjust_ff_dim=True,
                 layer_types=["conv", "full_attention", "conv", "conv", "full_attention"], tie_word_embeddings=True),
    "lfm2-bias": dict(SIZES, norm_eps=1e-5, rope_theta=1000000.0, conv_L_cache=4, conv_bias=True,
                      block_auto_adjust_ff_dim=False, layer_types=["conv", "full_attention", "conv"],
                      tie_word_embeddings=False),
    "phi3-longrope": dict(SIZES, hidden_size=64, num_hidden_layers=2, hidden_act="silu", rms_norm_eps=1e-5, rope_theta=10000.0,
                          original_max_position_embeddings=64, partial_rotary_factor=0.75, sliding_window=None,
                          attention_bias=False, resid_pdrop=0.0, embd_pdrop=0.0, tie_word_embeddings=True,
                          rope_scaling=dict(type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3, 1.5, 1.8],
                                            long_factor=[1.0, 1.4, 2.5, 4.0, 7.0, 11.0])),
}
# What the first files of LFM2 have, too, or instead.
FIRST_LFM2 = dict(block_dim=48, block_mlp_init_scale=1.0, block_norm_eps=1e-5, block_out_init_scale=1.0,
                  block_use_swiglu=True, block_use_xavier_init=True, conv_dim=48, conv_dim_out=48,
                  conv_use_xavier_init=True, num_heads=4, use_pos_enc=True)
LATER = {"layer_types", "no_rope_layers", "attention_layers", "head_dim"}
# Mistakes that a reader could make, as keys; how far each moves the likeliest tokens is written beside the values.
FAULTS = {
    "mistral": dict(no_window=dict(sliding_window=None), window_plus_1=dict(sliding_window=17)),
    "gemma2": dict(no_score_softcap=dict(attn_logit_softcapping=None), no_logit_softcap=dict(final_logit_softcapping=None),
                   windows_swapped=dict(layer_types=["full_attention", "sliding_attention"] * 2),
                   query_scale=dict(query_pre_attn_scalar=16)),
    "smollm3": dict(rope_everywhere=dict(no_rope_layers=[1] * 5), wrong_layer=dict(no_rope_layers=[1, 1, 0, 1, 1])),
    "granite": dict(no_residual_factor=dict(residual_multiplier=1.0), no_logits_factor=dict(logits_scaling=1.0),
                    no_embedding_factor=dict(embedding_multiplier=1.0), usual_scale=dict(attention_multiplier=12**-0.5)),
    "stablelm": dict(all_turns=dict(partial_rotary_factor=1.0)),
    "stablelm-parallel": dict(half_turns=dict(partial_rotary_factor=0.5)),
    "gpt_neo": dict(no_window=dict(window_size=256), window_plus_1=dict(window_size=17)),
    "phi": dict(all_turns=dict(partial_rotary_factor=1.0), erf_gelu=dict(hidden_act="gelu")),
    "lfm2": dict(theta_of_llama=dict(rope_theta=10000.0)),
    "lfm2-bias": dict(theta_of_llama=dict(rope_theta=10000.0)),
    "phi3-longrope": dict(no_scaling=dict(rope_scaling=None)),
}


def swapped_gates(state):
    parts = {k: v.chunk(3) for k, v in state.items() if ".in_proj." in k}
    return state | {k: torch.cat([c, b, x]) for k, (b, c, x) in parts.items()}


# The same of weights that are read another way.
MISREADINGS = {
    "lfm2": dict(gates_swapped=swapped_gates,
                 taps_reversed=lambda state: {k: v.flip(-1) if v.dim() == 3 else v for k, v in state.items()}),
}
MISREADINGS["lfm2-bias"] = MISREADINGS["lfm2"]


def spellings(name, keys):
    """config.json as 4.57 writes it, as 5.18 writes it, and as the first files had it."""
    model_type = name.split("-")[0]
    usual = dict(model_type=model_type, torch_dtype="float32", transformers_version="4.57.1", use_cache=True) | keys
    early = {k: v for k, v in usual.items() if k not in LATER} | dict(transformers_version="4.50.0")
    if "head_dim" in keys:
        early["head_dim"] = keys["head_dim"]
    if model_type == "lfm2":
        early |= FIRST_LFM2 | dict(block_ff_dim=early.pop("intermediate_size"), theta=early.pop("rope_theta"),
                                   tie_embedding=early.pop("tie_word_embeddings"),
                                   full_attn_idxs=[i for i, t in enumerate(keys["layer_types"]) if t != "conv"])
    newest = json.loads(AutoConfig.for_model(model_type, **keys).to_json_string(use_diff=False))
    kept = {k: v for k, v in newest.items() if k in usual or k in ("rope_parameters", "layer_types", "is_decoder")}
    kept |= dict(dtype="float32", transformers_version="5.18.0", pad_token_id=None)
    for old in ("torch_dtype", "rope_theta", "rope_scaling", "partial_rotary_factor"):
        kept.pop(old, None)
    return {"config.json": usual, "config.v5.json": kept, "config.early.json": early}


def load(config, state):
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config), attn_implementation="eager")
    model = model.double().eval()
    if state is not None:
        missing, unexpected = model.load_state_dict(state, strict=False)
        assert not unexpected and all(k in ("lm_head.weight",) for k in missing), (missing, unexpected)
        model.tie_weights()
    return model


def weights(model, seed):
    """Norms near 1 (Gemma's near 0), biases that are felt, matrices that keep the size of what they multiply."""
    generator = torch.Generator().manual_seed(seed)
    state = {}
    tied = model.config.tie_word_embeddings
    divisor = getattr(model.config, "logits_scaling", 1.0)
    factor = getattr(model.config, "embedding_multiplier", 1.0)
    embedding = 0.7 / (math.sqrt(model.config.hidden_size) if "gemma" in model.config.model_type else factor)
    for name, value in model.state_dict().items():
        noise = torch.randn(value.shape, generator=generator)
        if not value.is_floating_point() or name.endswith((".bias", "masked_bias")) and "attn.attention." in name and \
                not name.endswith("out_proj.bias"):
            continue  # GPT-Neo's masks
        if value.dim() == 1 and name.endswith("weight"):
            # The last norm makes logits of a tied head spread by 4 or so, which gives clear paths.
            last = name in ("model.norm.weight", "transformer.ln_f.weight", "model.embedding_norm.weight")
            mean = 4 * divisor / (embedding * math.sqrt(model.config.hidden_size)) if tied and last else 1.0
            value = 0.2 * noise + mean - (1.0 if "gemma" in model.config.model_type else 0.0)
        elif value.dim() == 1:
            value = 0.3 * noise
        elif "embed" in name or ".wte" in name or ".wpe" in name or name == "lm_head.weight":
            value = (0.5 if ".wpe" in name else embedding) * noise
        elif value.dim() == 3:  # a convolution's filters
            value = noise / math.sqrt(value.shape[2])
        else:
            value = 1.5 / math.sqrt(value.shape[1]) * noise
            if "attn.attention.q_proj" in name or "attn.attention.k_proj" in name:
                value = value * 12**-0.25  # GPT-Neo does not scale its scores
        if value.dim() == 2 and value.shape[0] == VOCAB:
            value[:3] = 0  # special ids, never chosen
        if name == "lm_head.bias":
            value[:3] = -9
        state[name] = value.to(SINGLE).double()
    if tied:
        state.pop("lm_head.weight", None)
    return state


@torch.no_grad()
def logprobs(model, ids):
    return torch.log_softmax(model(torch.tensor([ids])).logits[0, -1], -1)


@torch.no_grad()
def greedy(model, ids, count=24):
    """Step by step with a cache; the margins are those of one pass over the whole path, which must choose the same."""
    path, cache, fed = [], None, ids
    for _ in range(count):
        out = model(torch.tensor([fed]), past_key_values=cache, use_cache=True)
        cache, fed = out.past_key_values, [out.logits[0, -1].argmax().item()]
        path += fed
    rows = torch.log_softmax(model(torch.tensor([ids + path[:-1]])).logits[0, len(ids) - 1 :], -1)
    best = rows.topk(2, -1)
    assert best.indices[:, 0].tolist() == path
    return path, (best.values[:, 0] - best.values[:, 1]).min().item()


def cases_of(name, model, seed):
    """Prompts from the seed, so that a path's margins are at least 0.05 nats for one of the first seeds."""
    lengths = [70, 90] if name == "phi3-longrope" else [1, 7, 40, 90]
    generator = torch.Generator().manual_seed(1000 + seed)
    for length in lengths:
        for _ in range(40):
            ids = torch.randint(3, VOCAB, (length,), generator=generator).tolist()
            path, margin = greedy(model, ids)
            if margin >= 0.05 and len(set(path)) > 5:
                break
        else:
            raise ValueError(f"{name}: no path of {length} ids with a margin")
        yield dict(name=f"len{length}", ids=ids, greedy_ids=path, greedy_min_margin=round(margin, 4),
                   logprobs_f64=[round(v, 6) for v in logprobs(model, ids).tolist()])


def write(folder, file, value):
    with open(os.path.join(folder, file), "w") as out:
        json.dump(value, out, indent=1 if file != "golden.json" else None)
        out.write("\n")


def make(name):
    keys = MODELS[name]
    configs = spellings(name, keys)
    for seed in range(20):
        state = weights(load(configs["config.json"], None), seed)
        model = load(configs["config.json"], state)
        try:
            cases = list(cases_of(name, model, seed))
            break
        except ValueError as problem:
            print(problem)
    else:
        raise SystemExit(f"{name}: no seed gives clear paths")
    last = cases[-1]["ids"]
    expected = logprobs(model, last)
    likeliest = expected.topk(64).indices
    for file, config in configs.items():  # transformers reads all three alike
        difference = (logprobs(load(config, state), last) - expected).abs().max().item()
        assert difference < 1e-12, (name, file, difference)
    faults = {}
    for fault, change in FAULTS[name].items():
        wrong = logprobs(load(configs["config.json"] | change, state), last)
        faults[fault] = round((wrong - expected)[likeliest].abs().max().item(), 4)
    for fault, change in MISREADINGS.get(name, {}).items():
        wrong = logprobs(load(configs["config.json"], change(state)), last)
        faults[fault] = round((wrong - expected)[likeliest].abs().max().item(), 4)
    golden = dict(
        format="golden-1", model_type=name.split("-")[0], vocab_size=VOCAB,
        engine=dict(name="transformers", release=transformers.__version__, torch=torch.__version__, precision="float64",
                    seed=seed),
        faults=faults, cases=cases,
    )
    if name == "phi3-longrope":  # for a KV cache of 64 positions, where the short factors hold
        short = [dict(name=f"len{n}", ids=(ids := last[:n]), logprobs_f64=[round(v, 6) for v in logprobs(model, ids).tolist()])
                 for n in (7, 40)]
        golden["short"] = short
    os.makedirs(name, exist_ok=True)
    for file, config in configs.items():
        write(name, file, config)
    write(name, "golden.json", golden)
    write(name, "generation_config.json", dict(bos_token_id=0, eos_token_id=0, transformers_version="4.57.1"))
    single = {k: v.to(SINGLE).contiguous().numpy() for k, v in state.items()}
    save_file(single, os.path.join(name, "model.safetensors"), metadata=dict(format="pt"))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(os.path.join(TOKENIZER_FROM, file), os.path.join(name, file))
    count = sum(v.size for v in single.values())
    print(f"{name}: seed {seed}, {count} parameters, margins {[c['greedy_min_margin'] for c in cases]}, faults {faults}", flush=True)


def rope_settings():
    """rope_scaling objects in configs, and the frequencies and the factor that transformers makes of them."""
    sizes = dict(hidden_size=96, num_attention_heads=4, max_position_embeddings=131072, rope_theta=10000.0)
    factors = dict(short_factor=[1 + i / 10 for i in range(12)], long_factor=[1 + i * i / 5 for i in range(12)])
    scalings = [
        None,
        dict(rope_type="linear", factor=4.0),
        dict(rope_type="dynamic", factor=2.0),
        dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
             original_max_position_embeddings=8192),
        dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32768),
        dict(rope_type="yarn", factor=32.0),
        dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=4096, beta_fast=16, beta_slow=2,
             truncate=False),
        dict(rope_type="yarn", factor=16.0, original_max_position_embeddings=8192, mscale=1.0, mscale_all_dim=0.5),
        dict(rope_type="yarn", factor=16.0, original_max_position_embeddings=8192, attention_factor=1.25),
        dict(rope_type="longrope", original_max_position_embeddings=4096, **factors),
        dict(rope_type="longrope", original_max_position_embeddings=4096, factor=8.0, **factors),
        dict(rope_type="longrope", original_max_position_embeddings=4096, attention_factor=1.5, **factors),
    ]
    for scaling in scalings:
        keys = dict(sizes, rope_scaling=scaling)
        config = AutoConfig.for_model("llama", **json.loads(json.dumps(keys)))
        made = dict(keys=keys)
        if scaling is None:
            model = AutoModelForCausalLM.from_config(AutoConfig.for_model("llama", **keys, num_hidden_layers=1,
                                                     intermediate_size=8, vocab_size=8))
            frequencies, magnitude = model.model.rotary_emb.inv_freq, 1.0
        else:
            make = ROPE_INIT_FUNCTIONS[scaling["rope_type"]]
            frequencies, magnitude = make(config, None, seq_len=None)
            if scaling["rope_type"] == "longrope":
                made["long"] = make(config, None, seq_len=4097)[0].tolist()
        yield dict(made, inverse_frequencies=frequencies.tolist(), magnitude=magnitude)


if sys.argv[1:] in ([], ["rope.json"]):
    write(".", "rope.json", dict(engine=f"transformers {transformers.__version__}, float64", cases=list(rope_settings())))
for name in sys.argv[1:] or MODELS:
    if name != "rope.json":
        make(name)
