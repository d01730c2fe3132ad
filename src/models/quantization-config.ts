/**
 * How a checkpoint's matrices are quantized, from config.json: `quantization_config` as transformers writes it, or
 * MLX's `quantization`. Which modules are quantized is not read here: the checkpoint itself shows it, tensor by tensor.
 *
 * Keys that say how the quantization was found, or how another program should run it, change nothing and are listed;
 * any other that is not understood is refused, as in all of config.json.
 */
import { WordloomError } from "../errors";
import type { ConfigReader } from "./config-reader";

export type Quantization =
  | {
      scheme: "gptq";
      bits: number;
      groupSize: number | undefined;
      /** What is added to the zero points that the file holds. */
      zeroOffset: 0 | 1;
      /** g_idx says which group an input is in. */
      ordered: boolean;
    }
  | { scheme: "awq"; groupSize: number | undefined }
  | { scheme: "bnb-4bit"; type: string }
  | { scheme: "bnb-int8" }
  | {
      scheme: "compressed-pack";
      bits: number;
      groupSize: number | undefined;
      symmetric: boolean;
      ordered: boolean;
    }
  | {
      /** A byte a weight. */
      scheme: "scaled";
      /** What it is called: "compressed-tensors int8". */
      title: string;
      /** The rows and columns that share a scale; Infinity: all. */
      block: readonly [rows: number, columns: number];
      zeroPoint: boolean;
    }
  | {
      scheme: "mlx";
      bits: number;
      groupSize: number;
      /** Modules that differ. */
      modules: ReadonlyMap<string, { bits: number; groupSize: number }>;
    };

/** What a checkpoint holds, in words. */
export function describeQuantization(quantization: Quantization): string {
  const groups = (size: number | undefined) => (size === undefined ? "" : ` in groups of ${size}`);
  switch (quantization.scheme) {
    case "gptq":
      return `GPTQ, ${quantization.bits} bits${groups(quantization.groupSize)}`;
    case "awq":
      return `AWQ, 4 bits${groups(quantization.groupSize)}`;
    case "bnb-4bit":
      return `bitsandbytes ${quantization.type}`;
    case "bnb-int8":
      return "bitsandbytes int8";
    case "compressed-pack":
      return `compressed-tensors, ${quantization.bits} bits${groups(quantization.groupSize)}`;
    case "scaled":
      return quantization.title;
    case "mlx":
      return `MLX, ${quantization.bits} bits${groups(quantization.groupSize)}`;
  }
}

/** Undefined where config.json names no quantization. @throws WordloomError config-unsupported, config-invalid */
export function readQuantization(config: ConfigReader): Quantization | undefined {
  const own = config.object("quantization_config");
  if (config.isSet("quantization")) return readMlx(config, "quantization"); // newer files have the same under both keys
  if (own === undefined) return undefined;
  const isBitsandbytes = own.isSet("load_in_4bit") || own.isSet("load_in_8bit"); // it left its name out at first
  if (!own.isSet("quant_method") && !isBitsandbytes) return readMlx(config, "quantization_config");
  const method = own.string("quant_method", "bitsandbytes");
  const read = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (read === undefined) throw unknownMethod(method);
  const quantization = read(own);
  own.finish();
  return quantization;
}

const METHODS: Readonly<Record<string, (config: ConfigReader) => Quantization>> = {
  gptq: readGptq,
  awq: readAwq,
  bitsandbytes: readBitsandbytes,
  "compressed-tensors": readCompressedTensors,
  fp8: readFp8,
};

function unknownMethod(method: string): WordloomError {
  const known = `${Object.keys(METHODS).join(", ")} and MLX's own`;
  return new WordloomError(
    "config-unsupported",
    `config.json: quantization_config: quant_method is ${JSON.stringify(method)}; quantizations that are read: ${known}`,
    {
      remedy:
        "Choose the unquantized checkpoint of this model, a GGUF file of it, or one in GPTQ, AWQ, bitsandbytes, compressed-tensors, fp8 or MLX format.",
    },
  );
}

/** Counts keys as read that say nothing of what the files hold. */
function passOver(config: ConfigReader, keys: string): void {
  for (const key of keys.split(/\s+/)) config.take(key);
}

const BIG = 2 ** 20;

/** -1 and null are "all inputs". */
function readGroupSize(config: ConfigReader, key: string, fallback: number): number | undefined {
  const size = config.integer(key, { min: -1, max: BIG, fallback });
  if (size === 0) throw config.invalid(key, size, "a positive number, or -1 for all inputs, is expected");
  return size === -1 ? undefined : size;
}

function readBits(config: ConfigReader, key: string, known: readonly number[], fallback?: number): number {
  const bits = config.integer(key, { min: 1, max: 64, ...(fallback === undefined ? {} : { fallback }) });
  if (!known.includes(bits)) throw config.unsupported(key, bits, `supported: ${known.join(", ")}`);
  return bits;
}

function readGptq(config: ConfigReader): Quantization {
  passOver(
    config,
    `sym true_sequential damp_percent damp_auto_increment static_groups model_name_or_path model_file_base_name
    is_marlin_format lm_head meta quantizer backend use_exllama exllama_config use_cuda_fp16 disable_exllama version dataset tokenizer
    batch_size pad_token_id block_name_to_quantize module_name_preceding_first_block modules_in_block_to_quantize
    max_input_length cache_block_outputs model_seqlen hyb_act act_group_aware mse parallel_packing v2 tp
    modules_to_not_convert`,
  );
  config.only("pack_dtype", "int32");
  config.only("is_marlin_format", false);
  readDynamic(config);
  const offsets: Readonly<Record<string, 0 | 1>> = { gptq: 1, gptq_v2: 0 };
  return {
    scheme: "gptq",
    bits: readBits(config, "bits", [2, 3, 4, 8]),
    groupSize: readGroupSize(config, "group_size", 128),
    zeroOffset: config.choice("checkpoint_format", offsets, "gptq"),
    ordered: config.boolean("desc_act", false),
  };
}

/** GPTQModel's settings for single modules: those left out ("-:…") show in the checkpoint, other bits are refused. */
function readDynamic(config: ConfigReader): void {
  const dynamic = config.take("dynamic");
  if (dynamic === undefined || dynamic === false) return;
  if (typeof dynamic !== "object" || Array.isArray(dynamic))
    throw config.invalid("dynamic", dynamic, "an object is expected");
  const other = Object.keys(dynamic as object).find((pattern) => !pattern.startsWith("-:"));
  if (other !== undefined) {
    throw config.unsupported("dynamic", dynamic, `one setting for all modules is supported, none for ${other}`);
  }
}

function readAwq(config: ConfigReader): Quantization {
  passOver(config, "modules_to_not_convert do_fuse fuse_max_seq_len modules_to_fuse backend exllama_config");
  readBits(config, "bits", [4], 4);
  config.only("zero_point", true);
  const version = config.string("version", "gemm").toLowerCase();
  if (version !== "gemm") throw config.unsupported("version", version, "supported: gemm");
  return { scheme: "awq", groupSize: readGroupSize(config, "group_size", 128) };
}

function readBitsandbytes(config: ConfigReader): Quantization {
  passOver(
    config,
    `_load_in_4bit _load_in_8bit bnb_4bit_compute_dtype bnb_4bit_use_double_quant llm_int8_enable_fp32_cpu_offload
    llm_int8_has_fp16_weight llm_int8_skip_modules llm_int8_threshold`,
  );
  const is4bit = config.boolean("load_in_4bit", false);
  const is8bit = config.boolean("load_in_8bit", false);
  if (is4bit === is8bit) {
    throw config.invalid("load_in_4bit", is4bit, `load_in_8bit is ${is8bit}; one of the two is expected to be true`);
  }
  config.only("bnb_4bit_quant_storage", "uint8");
  const type = config.choice("bnb_4bit_quant_type", { nf4: "nf4", fp4: "fp4" }, "fp4");
  return is4bit ? { scheme: "bnb-4bit", type } : { scheme: "bnb-int8" };
}

function readFp8(config: ConfigReader): Quantization {
  // Activations are not quantized here, whatever the scheme says: they keep their full precision. `scale_fmt` says how
  // the scales were rounded; the file holds them as floats all the same.
  passOver(config, "activation_scheme modules_to_not_convert ignored_layers dequantize scale_fmt");
  const format = config.choice("fmt", { e4m3: "e4m3", float8_e4m3fn: "e4m3" }, "e4m3");
  const title = `fp8 (${format})`;
  const block = config.take("weight_block_size");
  if (block === undefined) return { scheme: "scaled", title, block: [Infinity, Infinity], zeroPoint: false };
  const sizes = readBlock(config, "weight_block_size", block);
  return { scheme: "scaled", title: `${title} in blocks of ${sizes.join(" x ")}`, block: sizes, zeroPoint: false };
}

function readBlock(config: ConfigReader, key: string, value: unknown): readonly [number, number] {
  const isSize = (size: unknown) => Number.isSafeInteger(size) && (size as number) > 0 && (size as number) <= BIG;
  if (Array.isArray(value) && value.length === 2 && value.every(isSize)) return value as [number, number]; // just checked
  throw config.invalid(key, value, "two positive numbers are expected");
}

function readCompressedTensors(config: ConfigReader): Quantization {
  passOver(config, "ignore quantization_status global_compression_ratio version");
  for (const key of ["kv_cache_scheme", "transform_config", "sparsity_config"]) readNothing(config, key);
  const format = config.string("format");
  const groups = config.object("config_groups");
  const names = Object.keys((config.take("config_groups") as object | undefined) ?? {}); // an object: just read as one
  const [name] = names;
  if (groups === undefined || name === undefined || names.length !== 1) {
    throw config.unsupported("config_groups", names, `${names.length} groups; one for all modules is supported`);
  }
  const group = groups.object(name);
  const weights = group?.object("weights");
  if (group === undefined || weights === undefined)
    throw groups.invalid(name, undefined, "settings for weights are expected");
  // Activations are not quantized here, whatever the scheme says: they keep their full precision.
  passOver(group, "targets input_activations");
  group.only("format", format);
  readNothing(group, "output_activations");
  group.finish();
  const quantization = readCompressedWeights(config, format, weights);
  weights.finish();
  return quantization;
}

/** For a key whose value, if it has any, would be an addition to what is read here. */
function readNothing(config: ConfigReader, key: string): void {
  const value = config.take(key);
  if (value === undefined) return;
  if (typeof value === "object" && Object.keys(value as object).length === 0) return;
  // Written by default: not sparse.
  if (key === "sparsity_config" && (value as Record<string, unknown>)["format"] === "dense") return;
  throw config.unsupported(key, value, "supported: none");
}

function readCompressedWeights(config: ConfigReader, format: string, weights: ConfigReader): Quantization {
  passOver(weights, "observer observer_kwargs dynamic scale_dtype zp_dtype");
  const type = weights.string("type", "int");
  const symmetric = weights.boolean("symmetric", true);
  const actorder = weights.take("actorder");
  if (format === "pack-quantized") {
    if (type !== "int") throw weights.unsupported("type", type, "supported: int");
    const strategy = weights.choice("strategy", { group: "group", channel: "channel" }, "channel");
    const size = readGroupSize(weights, "group_size", -1);
    return {
      scheme: "compressed-pack",
      bits: readBits(weights, "num_bits", [4, 8]),
      groupSize: strategy === "group" ? size : undefined,
      symmetric,
      ordered: actorder === true || actorder === "group" || actorder === "dynamic",
    };
  }
  const formats: Readonly<Record<string, readonly string[]>> = {
    "int-quantized": ["int"],
    "float-quantized": ["float"],
    "naive-quantized": ["int", "float"],
  };
  const types = Object.hasOwn(formats, format) ? formats[format] : undefined;
  if (types === undefined) {
    throw config.unsupported("format", format, `supported: ${["pack-quantized", ...Object.keys(formats)].join(", ")}`);
  }
  if (!types.includes(type)) throw weights.unsupported("type", type, `supported in ${format}: ${types.join(", ")}`);
  if (actorder === true || actorder === "group") {
    throw weights.unsupported("actorder", actorder, `supported in ${format}: none, "weight", "static"`);
  }
  readBits(weights, "num_bits", [8], 8);
  const block = readStrategy(weights);
  const title = `compressed-tensors ${type === "int" ? "int8" : "fp8 (e4m3)"}`;
  return { scheme: "scaled", title, block, zeroPoint: !symmetric };
}

function readStrategy(weights: ConfigReader): readonly [rows: number, columns: number] {
  const size = readGroupSize(weights, "group_size", -1);
  const structure = weights.take("block_structure");
  const blocks: Readonly<Record<string, () => readonly [number, number]>> = {
    tensor: () => [Infinity, Infinity],
    channel: () => [1, Infinity],
    group: () => [1, size ?? Infinity],
    block: () => readBlock(weights, "block_structure", structure),
  };
  return weights.choice("strategy", blocks, "tensor")();
}

const MLX_BITS = [2, 3, 4, 5, 6, 8];

function readMlx(parent: ConfigReader, key: string): Quantization {
  const config = parent.object(key);
  const names = Object.keys((parent.take(key) as object | undefined) ?? {}); // an object, as `object` has checked
  if (config === undefined) throw parent.invalid(key, undefined, "an object is expected");
  config.only("mode", "affine");
  const bits = readBits(config, "bits", MLX_BITS);
  const groupSize = config.integer("group_size", { min: 1, max: BIG });
  const modules = new Map<string, { bits: number; groupSize: number }>();
  for (const name of names) {
    if (!name.includes(".") && name !== "lm_head") continue;
    if (typeof config.take(name) !== "object") continue; // true or false: the checkpoint shows it
    const module = config.object(name);
    if (module === undefined) continue;
    module.only("mode", "affine");
    modules.set(name, {
      bits: module.isSet("bits") ? readBits(module, "bits", MLX_BITS) : bits,
      groupSize: module.integer("group_size", { min: 1, max: BIG, fallback: groupSize }),
    });
    module.finish();
  }
  config.finish();
  return { scheme: "mlx", bits, groupSize, modules };
}
