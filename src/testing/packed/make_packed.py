"""Writes the vectors and the tiny models of quantized safetensors: random numbers, packed, and what they stand for.

Needs: pip install torch==2.13.0 transformers==5.18.0 onnxruntime==1.30.0 onnx, and two programs that have no package:
  LLAMA_CPP  a checkout of llama.cpp (with conversion/base.py), whose converter decodes GPTQ, compressed-tensors and fp8
  AUTOAWQ    the file awq/utils/packing_utils.py of AutoAWQ
Run in this folder: LLAMA_CPP=… AUTOAWQ=… python make_packed.py [vectors] [models]. What each case was decoded by stands in PROVENANCE.md.
"""

import importlib.util
import json
import os
import subprocess
import sys

if sys.argv[1:2] == ["logits"]:
    import torch

    torch.float32 = torch.float = torch.float64  # before transformers is imported, as in ../golden/make_golden.py
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)

import numpy as np
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file

SEED = 20261130
IDS = [[5, 17, 300, 42, 42, 7, 123, 250, 31, 64, 8, 199], [311]]
CONFIG = dict(
    model_type="llama", vocab_size=320, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=128, rms_norm_eps=1e-5, rope_theta=10000.0, hidden_act="silu",
    bos_token_id=0, eos_token_id=0, tie_word_embeddings=True, torch_dtype="float16", transformers_version="4.57.1",
)


def fields(values, width, axis):
    """Packs integers along an axis: as one long number, the first in its lowest bits, cut into 32-bit words."""
    rows = np.moveaxis(np.asarray(values), axis, -1)
    packed = []
    for row in rows.reshape(-1, rows.shape[-1]):
        number = sum(int(v) << (width * i) for i, v in enumerate(row))
        packed.append([(number >> (32 * i)) & 0xFFFFFFFF for i in range(-(-len(row) * width // 32))])
    words = np.array(packed, dtype=np.uint32).reshape(*rows.shape[:-1], -1)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(words, -1, axis)).view(np.int32))


class Case:
    """A quantization, and a way to make a matrix [rows, columns] of it."""

    def __init__(self, by, config, make, sizes):
        self.by, self.config, self.make, self.sizes = by, config, make, sizes


def scales(rng, shape, size=0.02, dtype=torch.float16):
    return torch.from_numpy(rng.uniform(0.3, 1.7, shape) * size * rng.choice([1, 1, 1, -1], shape)).to(dtype)


# --- llama.cpp's converter ---------------------------------------------------------------------------------------------


def by_llama_cpp(config, tensors):
    from conversion.base import ModelBase  # the class that reads checkpoints, without reading one

    model = object.__new__(ModelBase)
    model.hparams = dict(quantization_config=config)
    model.model_tensors = {name: (lambda t=t: t) for name, t in tensors.items()}
    model._is_nvfp4 = model._fp8_as_q8 = model.lazy = False
    ModelBase.dequant_model(model)
    (name,) = [n for n in model.model_tensors if n.endswith(".weight")]
    return model.model_tensors[name]().float().contiguous()


def gptq(bits, group, version="gptq", ordered=False, dtype=torch.float16):
    config = dict(quant_method="gptq", bits=bits, group_size=group, desc_act=ordered, sym=False, damp_percent=0.01,
                  true_sequential=True, static_groups=False, lm_head=False)
    if version != "gptq":
        config["checkpoint_format"] = version

    def make(rng, name, rows, columns):
        size = columns if group == -1 else group
        groups = -(-columns // size)
        q = rng.integers(0, 2**bits, (columns, rows))
        zero = rng.integers(1, 2**bits, (groups, rows))  # 0 is held as -1 in the first format, on which programs differ
        scale = scales(rng, (groups, rows), 0.3 / 2**bits, dtype)
        index = np.arange(columns) // size
        if ordered:
            index = rng.permutation(index)
        tensors = {
            f"{name}.qweight": fields(q, bits, 0),
            f"{name}.qzeros": fields(zero - (version == "gptq"), bits, 1),
            f"{name}.scales": scale,
            f"{name}.g_idx": torch.from_numpy(index.astype(np.int32)),
        }
        if bits == 3:  # which the converter does not read
            decoded = ((q - zero[index]).astype(np.float64) * scale.double().numpy()[index]).T
            return tensors, torch.from_numpy(decoded.astype(np.float32)).contiguous()
        return tensors, by_llama_cpp(config, tensors)

    return Case("llama.cpp" if bits != 3 else "numpy", dict(quantization_config=config), make, (64, 96))


def compressed(format, type, bits, strategy, group=None, symmetric=True, dtype=torch.bfloat16, sizes=(33, 50)):
    weights = dict(num_bits=bits, type=type, symmetric=symmetric, strategy=strategy, group_size=group, actorder=None,
                   block_structure=None, dynamic=False, observer="minmax", observer_kwargs={})
    # llama.cpp's converter does not read a scale for the whole matrix, nor zero points of bytes.
    by_numpy = format != "pack-quantized" and (strategy == "tensor" or not symmetric)
    config = dict(quant_method="compressed-tensors", format=format, quantization_status="compressed", ignore=["lm_head"],
                  kv_cache_scheme=None, global_compression_ratio=None,
                  config_groups=dict(group_0=dict(weights=weights, input_activations=None, output_activations=None,
                                                  targets=["Linear"])))

    def make(rng, name, rows, columns):
        if format == "pack-quantized":
            groups = columns // group
            scale = scales(rng, (rows, groups), 0.02, dtype)
            tensors = {
                f"{name}.weight_packed": fields(rng.integers(0, 2**bits, (rows, columns)), bits, 1),
                f"{name}.weight_scale": scale,
                f"{name}.weight_shape": torch.tensor([rows, columns], dtype=torch.int64),
            }
            if not symmetric:
                tensors[f"{name}.weight_zero_point"] = fields(rng.integers(0, 2**bits, (rows, groups)), bits, 0)
            return tensors, by_llama_cpp(config, tensors)
        scale = scales(rng, (1,) if strategy == "tensor" else (rows, 1), 0.003 if type == "int" else 0.001, dtype)
        tensors = {f"{name}.weight": bytes_of(rng, type, rows, columns), f"{name}.weight_scale": scale}
        if not by_numpy:
            return tensors, by_llama_cpp(config, tensors)
        zero = torch.zeros(1)
        if not symmetric:
            tensors[f"{name}.weight_zero_point"] = torch.from_numpy(rng.integers(-20, 20, (rows, 1)).astype(np.int8))
            zero = tensors[f"{name}.weight_zero_point"].double()
        decoded = (tensors[f"{name}.weight"].double() - zero) * scale.double()
        return tensors, decoded.to(torch.float32)

    return Case("numpy" if by_numpy else "llama.cpp", dict(quantization_config=config), make, sizes)


def bytes_of(rng, type, rows, columns):
    if type == "int":
        return torch.from_numpy(rng.integers(-128, 128, (rows, columns)).astype(np.int8))
    numbers = [b for b in range(256) if b & 127 != 127]  # NaN in e4m3
    return torch.from_numpy(rng.choice(numbers, (rows, columns)).astype(np.uint8)).view(torch.float8_e4m3fn)


def fp8(block, sizes=(40, 50)):
    config = dict(quant_method="fp8", fmt="e4m3", activation_scheme="dynamic", weight_block_size=list(block))

    def make(rng, name, rows, columns):
        grid = (-(-rows // block[0]), -(-columns // block[1]))
        tensors = {f"{name}.weight": bytes_of(rng, "float", rows, columns),
                   f"{name}.weight_scale_inv": scales(rng, grid, 0.001, torch.float32)}
        return tensors, by_llama_cpp(config, tensors)

    return Case("llama.cpp", dict(quantization_config=config), make, sizes)


# --- AutoAWQ -----------------------------------------------------------------------------------------------------------


def awq(group, sizes=(40, 96)):
    config = dict(quant_method="awq", bits=4, group_size=group, zero_point=True, version="gemm",
                  modules_to_not_convert=None)

    def make(rng, name, rows, columns):
        spec = importlib.util.spec_from_file_location("packing_utils", os.environ["AUTOAWQ"])
        autoawq = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(autoawq)
        size = columns if group == -1 else group
        # Any words at all: which of their nibbles is which weight, AutoAWQ says.
        word = lambda *shape: torch.from_numpy(rng.integers(-(2**31), 2**31, shape).astype(np.int32))
        qweight, qzeros = word(columns, rows // 8), word(columns // size, rows // 8)
        scale = scales(rng, (columns // size, rows), 0.02)
        # With scales as float32 its product is not rounded to half precision.
        decoded = autoawq.dequantize_gemm(qweight, qzeros, scale.to(torch.float32), 4, size)
        tensors = {f"{name}.qweight": qweight, f"{name}.qzeros": qzeros, f"{name}.scales": scale}
        return tensors, decoded.T.contiguous()

    return Case("AutoAWQ", dict(quantization_config=config), make, sizes)


# --- onnxruntime's MatMulBnb4 --------------------------------------------------------------------------------------------

NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
FP4 = [0.0, 0.005208333333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25]
FP4 = FP4 + [-v for v in FP4]


def by_onnxruntime(packed, absmax, rows, columns, block, type):
    """The product of the identity with the matrix, in which each weight stands alone."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    node = helper.make_node("MatMulBnb4", ["A", "B", "absmax"], ["Y"], domain="com.microsoft", K=columns, N=rows,
                            block_size=block, quant_type=1 if type == "nf4" else 0)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info("A", TensorProto.FLOAT, [columns, columns])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [columns, rows])],
        [numpy_helper.from_array(packed.numpy().reshape(-1), "B"), numpy_helper.from_array(absmax.numpy(), "absmax")],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {"A": np.eye(columns, dtype=np.float32)})[0].T.copy())


def bnb4(type, double, block=64, sizes=(25, 50)):
    config = dict(quant_method="bitsandbytes", _load_in_4bit=True, _load_in_8bit=False, load_in_4bit=True,
                  load_in_8bit=False, bnb_4bit_quant_type=type, bnb_4bit_use_double_quant=double,
                  bnb_4bit_compute_dtype="float16", bnb_4bit_quant_storage="uint8", llm_int8_threshold=6.0,
                  llm_int8_skip_modules=None, llm_int8_enable_fp32_cpu_offload=False, llm_int8_has_fp16_weight=False)
    nested_block = 16  # bitsandbytes' own is 256; smaller, so that these matrices have several

    def make(rng, name, rows, columns):
        count = rows * columns
        packed = torch.from_numpy(rng.integers(0, 256, (-(-count // 2), 1)).astype(np.uint8))
        blocks = -(-count // block)
        weight = f"{name}.weight"
        state = dict(quant_type=type, blocksize=block, dtype="float16", shape=[rows, columns])
        tensors = {weight: packed, f"{weight}.quant_map": torch.tensor(NF4 if type == "nf4" else FP4)}
        if double:
            q = rng.integers(0, 256, blocks).astype(np.uint8)
            map = np.sort(rng.uniform(-1, 1, 256)).astype(np.float32)
            nested = rng.uniform(0.1, 0.2, -(-blocks // nested_block)).astype(np.float32)
            offset = np.float32(0.2)
            absmax = map[q] * np.repeat(nested, nested_block)[:blocks] + offset  # float32 after each step
            state |= dict(nested_blocksize=nested_block, nested_dtype="float32", nested_offset=float(offset))
            tensors |= {f"{weight}.absmax": torch.from_numpy(q), f"{weight}.nested_absmax": torch.from_numpy(nested),
                        f"{weight}.nested_quant_map": torch.from_numpy(map)}
        else:
            absmax = rng.uniform(0.1, 0.4, blocks).astype(np.float32)
            tensors[f"{weight}.absmax"] = torch.from_numpy(absmax)
        text = np.frombuffer(json.dumps(state).encode(), dtype=np.uint8).copy()
        tensors[f"{weight}.quant_state.bitsandbytes__{type}"] = torch.from_numpy(text)
        return tensors, by_onnxruntime(packed, torch.from_numpy(absmax), rows, columns, block, type)

    return Case("onnxruntime", dict(quantization_config=config), make, sizes)


def bnb8(sizes=(33, 50)):
    config = dict(quant_method="bitsandbytes", load_in_4bit=False, load_in_8bit=True, llm_int8_threshold=6.0,
                  llm_int8_skip_modules=["lm_head"], llm_int8_has_fp16_weight=False, bnb_4bit_quant_type="fp4",
                  bnb_4bit_quant_storage="uint8", bnb_4bit_compute_dtype="float32", bnb_4bit_use_double_quant=False)

    def make(rng, name, rows, columns):
        q = rng.integers(-127, 128, (rows, columns)).astype(np.int8)
        scb = rng.uniform(0.1, 0.5, rows).astype(np.float32)
        tensors = {f"{name}.weight": torch.from_numpy(q), f"{name}.SCB": torch.from_numpy(scb),
                   f"{name}.weight_format": torch.tensor(0, dtype=torch.uint8)}
        decoded = q.astype(np.float64) * scb.astype(np.float64)[:, None] / 127
        return tensors, torch.from_numpy(decoded.astype(np.float32))

    return Case("numpy", dict(quantization_config=config), make, sizes)


# --- transformers' reading of MLX's layout ---------------------------------------------------------------------------------


def mlx(bits, group, dtype=torch.float16, sizes=(33, 192)):
    settings = dict(group_size=group, bits=bits)
    own = bits in (2, 4, 8)  # the widths that transformers reads

    def make(rng, name, rows, columns):
        q = rng.integers(0, 2**bits, (rows, columns))
        scale = scales(rng, (rows, columns // group), 0.3 / 2**bits, dtype)
        bias = (-scale.double() * torch.from_numpy(rng.uniform(0.3, 0.7, scale.shape)) * 2**bits).to(dtype)
        packed = fields(q, bits, 1)
        tensors = {f"{name}.weight": packed.view(torch.uint32), f"{name}.scales": scale, f"{name}.biases": bias}
        if own:
            from transformers.integrations.metal_quantization import _affine_dequantize_tensor

            return tensors, _affine_dequantize_tensor(packed, scale, bias, group, bits)
        wide = lambda t: np.repeat(t.double().numpy(), group, axis=1)
        return tensors, torch.from_numpy((q * wide(scale) + wide(bias)).astype(np.float32))

    return Case("transformers" if own else "numpy", dict(quantization=settings, quantization_config=settings), make, sizes)


CASES = {
    "gptq-4": gptq(4, 32),
    "gptq-4-bf16": gptq(4, -1, dtype=torch.bfloat16),
    "gptq-4-ordered": gptq(4, 32, ordered=True),
    "gptq-4-v2": gptq(4, 48, "gptq_v2"),
    "gptq-8": gptq(8, 32),
    "gptq-3": gptq(3, 32),
    "gptq-2": gptq(2, 96),
    "awq": awq(32),
    "awq-whole": awq(-1),
    "bnb-nf4": bnb4("nf4", False),
    "bnb-nf4-double": bnb4("nf4", True),
    "bnb-nf4-odd": bnb4("nf4", False, sizes=(15, 33)),
    "bnb-fp4": bnb4("fp4", False),
    "bnb-int8": bnb8(),
    "int-channel": compressed("int-quantized", "int", 8, "channel"),
    "int-asymmetric": compressed("int-quantized", "int", 8, "channel", symmetric=False, dtype=torch.float32),
    "float-channel": compressed("float-quantized", "float", 8, "channel"),
    "float-tensor": compressed("naive-quantized", "float", 8, "tensor", dtype=torch.float32),
    "pack-4": compressed("pack-quantized", "int", 4, "group", 20, sizes=(33, 100)),
    "pack-4-asymmetric": compressed("pack-quantized", "int", 4, "group", 20, symmetric=False, sizes=(33, 100)),
    "pack-8": compressed("pack-quantized", "int", 8, "group", 16, dtype=torch.float16, sizes=(21, 48)),
    "fp8-blocks": fp8((16, 32)),
    "mlx-4": mlx(4, 64),
    "mlx-8": mlx(8, 32, torch.bfloat16),
    "mlx-2": mlx(2, 64),
    "mlx-3": mlx(3, 64),
    "mlx-5": mlx(5, 32),
    "mlx-6": mlx(6, 64),
}

# Whole models: the case, and which of their modules it holds besides the layers' own.
MODELS = {
    "gptq": (gptq(4, 32, ordered=True), ()),
    "awq": (awq(32), ()),
    "bnb-nf4": (bnb4("nf4", True), ()),
    "bnb-int8": (bnb8(), ()),
    "compressed-int8": (compressed("int-quantized", "int", 8, "channel"), ()),
    "compressed-pack": (compressed("pack-quantized", "int", 4, "group", 32), ()),
    "fp8": (fp8((32, 48)), ()),
    "mlx": (mlx(4, 32), ("model.embed_tokens", "lm_head")),
}


def vectors():
    tensors, metadata = {}, {}
    for number, (name, case) in enumerate(CASES.items()):
        rng = np.random.default_rng([SEED, number])
        parts, expected = case.make(rng, "layer", *case.sizes)
        assert expected.dtype == torch.float32 and expected.shape == case.sizes and expected.isfinite().all(), name
        tensors |= {f"{name}/{part}": t.contiguous() for part, t in parts.items()} | {f"{name}/expected": expected}
        metadata[name] = json.dumps(case.config)
        print(name, case.by)
    save_file(tensors, "vectors.safetensors", metadata)


def models():
    for number, (name, (case, more)) in enumerate(MODELS.items()):
        rng = np.random.default_rng([SEED, 1000 + number])
        config = CONFIG | case.config | dict(tie_word_embeddings="lm_head" not in more)
        hidden, inner, keys, vocab = config["hidden_size"], config["intermediate_size"], 32, config["vocab_size"]
        shapes = {"model.embed_tokens": (vocab, hidden)}
        if "lm_head" in more:
            shapes["lm_head"] = (vocab, hidden)
        for layer in range(config["num_hidden_layers"]):
            at = f"model.layers.{layer}"
            shapes |= {f"{at}.self_attn.{p}_proj": (n, hidden) for p, n in dict(q=hidden, k=keys, v=keys, o=hidden).items()}
            shapes |= {f"{at}.mlp.{p}_proj": (inner, hidden) for p in ("gate", "up")}
            shapes[f"{at}.mlp.down_proj"] = (hidden, inner)
        tensors, decoded = {}, {}
        for module, (rows, columns) in shapes.items():
            if ".layers." in module or module in more:
                parts, weight = case.make(rng, module, rows, columns)
            else:
                weight = torch.from_numpy(rng.normal(0, 0.4, (rows, columns))).to(torch.float16)
                parts = {f"{module}.weight": weight}
            tensors |= parts
            decoded[f"{module}.weight"] = weight.to(torch.float32)
        norms = [f"model.layers.{i}.{n}_layernorm" for i in range(2) for n in ("input", "post_attention")]
        for norm in [*norms, "model.norm"]:
            weight = torch.from_numpy(rng.uniform(0.5, 1.5, hidden)).to(torch.float16)
            tensors[f"{norm}.weight"] = weight
            decoded[f"{norm}.weight"] = weight.to(torch.float32)
        os.makedirs(name, exist_ok=True)
        save_file({k: v.contiguous() for k, v in tensors.items()}, f"{name}/model.safetensors", {"format": "pt"})
        json.dump(config, open(f"{name}/config.json", "w"), indent=1)
        save_file({k: v.contiguous() for k, v in decoded.items()}, f"{name}/decoded.safetensors")
        subprocess.run([sys.executable, sys.argv[0], "logits", name], check=True)
        os.remove(f"{name}/decoded.safetensors")


def logits(folder):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = json.load(open(f"{folder}/config.json"))
    config = {k: v for k, v in config.items() if not k.startswith("quantization") and k != "torch_dtype"}
    model = LlamaForCausalLM._from_config(LlamaConfig(**config), attn_implementation="eager").double().eval()
    weights = {k: torch.from_numpy(v.astype(np.float64)) for k, v in load_file(f"{folder}/decoded.safetensors").items()}
    missing = model.load_state_dict(weights, strict=False)
    assert not missing.unexpected_keys and set(missing.missing_keys) <= {"lm_head.weight"}, missing
    model.tie_weights()
    cases = []
    for ids in IDS:
        with torch.no_grad():
            last = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1], -1)
        assert last.dtype == torch.float64
        cases.append(dict(ids=ids, logprobs_f64=[round(v, 6) for v in last.tolist()]))
    json.dump(dict(cases=cases), open(f"{folder}/golden.json", "w"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["logits"]:
        logits(sys.argv[2])
    else:
        sys.path[:0] = [os.environ["LLAMA_CPP"], os.path.join(os.environ["LLAMA_CPP"], "gguf-py")]
        for part in sys.argv[1:] or ["vectors", "models"]:
            dict(vectors=vectors, models=models)[part]()
