/** Reads the rotary settings of a config.json, in transformers' spellings before and since version 5. */
import type { Sizes } from "./common-config";
import type { ConfigReader } from "./config-reader";
import type { RopeSpec } from "./decoder-spec";
import type { LayerType } from "./layer-types";
import { inverseFrequencies, longropeMagnitude, yarnMagnitude, type RopeScaling } from "./rope-frequencies";
import { SIZE_LIMITS } from "./sizes";

const THETA = { min: 1, max: 1e12 };
/** Where factors differ more than this, the file is damaged. */
const FACTOR = { min: 1e-4, max: 1e4 };

export interface RopeDefaults {
  /** The base of the frequencies; default 10000. */
  theta?: number;
  /** The part of a head that turns where the files do not say; undefined: all of it, and they must not say otherwise. */
  rotaryFactor?: number;
  /** Positions before scaling; default: what config.json says, and without that, `max_position_embeddings`. */
  originalContextLength?: number;
  /** Names of these two where they stand outside of a rope's own object. */
  keys?: readonly [theta: string, rotaryFactor: string];
}

/** What the keys outside of a rope's own object say. */
interface Outer {
  theta: number;
  rotaryFactor: number | undefined;
  headDim: number;
  contextLength: number;
  originalContextLength: number | undefined;
}

/**
 * The one rope of all layers, from `rope_theta`, `rope_scaling` and `partial_rotary_factor`, or `rope_parameters`, which
 * holds all of them.
 *
 * @throws config-unsupported for scaling other than default, linear, dynamic, llama3, yarn and longrope; config-invalid
 *   for values that cannot be, and for two objects that contradict each other
 */
export function readRope(
  config: ConfigReader,
  sizes: Pick<Sizes, "headDim" | "contextLength">,
  defaults: RopeDefaults = {},
): RopeSpec {
  const { theta = 10000, rotaryFactor, keys = ["rope_theta", "partial_rotary_factor"] } = defaults;
  const outer: Outer = {
    ...sizes,
    theta: config.number(keys[0], { ...THETA, fallback: theta }),
    rotaryFactor: readRotaryFactor(config, keys[1], rotaryFactor),
    originalContextLength: readOriginalContextLength(config) ?? defaults.originalContextLength,
  };
  return readEither(config, config.object("rope_scaling"), config.object("rope_parameters"), outer);
}

/**
 * A rope for each type of layer: `rope_parameters` then holds one object for each; in older files the thetas have keys
 * of their own, and `rope_scaling` is for the layers that say `scaled`.
 */
export function readRopeOfTypes(
  config: ConfigReader,
  sizes: Pick<Sizes, "headDim" | "contextLength">,
  defaults: Readonly<Record<LayerType, { theta: number; key: string; scaled: boolean }>>,
): Record<LayerType, RopeSpec> {
  const older = config.object("rope_scaling");
  const newer = config.object("rope_parameters");
  const originalContextLength = readOriginalContextLength(config);
  const read = (type: LayerType): RopeSpec => {
    const { theta: fallback, key, scaled } = defaults[type];
    const theta = config.number(key, { ...THETA, fallback });
    const outer = { ...sizes, theta, rotaryFactor: undefined, originalContextLength };
    return readEither(config, scaled ? older : undefined, newer?.object(type), outer);
  };
  const ropes = { full_attention: read("full_attention"), sliding_attention: read("sliding_attention") };
  newer?.finish();
  return ropes;
}

function readRotaryFactor(config: ConfigReader, key: string, fallback: number | undefined): number | undefined {
  if (fallback === undefined) config.only(key, 1);
  return fallback === undefined ? undefined : config.number(key, { min: 0, max: 1, fallback });
}

function readOriginalContextLength(config: ConfigReader): number | undefined {
  const key = "original_max_position_embeddings";
  return config.isSet(key) ? config.integer(key, SIZE_LIMITS.contextLength) : undefined;
}

function readEither(
  config: ConfigReader,
  older: ConfigReader | undefined,
  newer: ConfigReader | undefined,
  outer: Outer,
): RopeSpec {
  const rope = readObject(newer ?? older, config, outer);
  if (older === undefined || newer === undefined) return rope;
  if (JSON.stringify(readObject(older, config, outer)) !== JSON.stringify(rope)) {
    throw config.invalid("rope_scaling", "set", "rope_parameters is set, too, and says something else");
  }
  return rope;
}

function readObject(rope: ConfigReader | undefined, config: ConfigReader, outer: Outer): RopeSpec {
  const theta = rope?.number("rope_theta", { ...THETA, fallback: outer.theta }) ?? outer.theta;
  const inner = rope && readRotaryFactor(rope, "partial_rotary_factor", outer.rotaryFactor);
  const rotaryFactor = inner ?? outer.rotaryFactor ?? 1;
  const rotaryWidth = Math.floor(outer.headDim * rotaryFactor);
  if (rotaryWidth < 2 || rotaryWidth % 2 !== 0) {
    const part = rotaryFactor === 1 ? "" : `${rotaryFactor} of that is ${rotaryWidth}; `;
    const why = `${part}rotary embedding needs an even number`;
    throw config.invalid("head_dim", outer.headDim, why);
  }
  const spec = (scaling?: RopeScaling): RopeSpec => ({
    inverseFrequencies: inverseFrequencies(theta, rotaryWidth, scaling),
    pairing: "half-split",
  });
  if (rope === undefined) return spec();
  const read = rope.choice(rope.isSet("rope_type") ? "rope_type" : "type", ROPE_TYPES, "default");
  rope.isSet("type"); // the older name of rope_type; early Llama 3.1 files have both
  const result = read(rope, spec, outer, rotaryWidth / 2);
  rope.finish();
  return result;
}

type ReadType = (
  rope: ConfigReader,
  spec: (scaling?: RopeScaling) => RopeSpec,
  outer: Outer,
  pairs: number,
) => RopeSpec;

const ROPE_TYPES: Readonly<Record<string, ReadType>> = {
  default: (_, spec) => spec(),
  linear: (rope, spec) => spec({ type: "linear", factor: readFactor(rope) }),
  /** "NTK-aware" scaling starts beyond `max_position_embeddings`, which no KV cache here goes; before it, nothing changes. */
  dynamic: (rope, spec) => {
    readFactor(rope);
    return spec();
  },
  llama3: (rope, spec) => {
    const low = rope.number("low_freq_factor", { min: 1e-3, max: 1e3 });
    const high = rope.number("high_freq_factor", { min: 1e-3, max: 1e3 });
    if (high <= low) throw rope.invalid("high_freq_factor", high, `more than low_freq_factor, ${low}, is expected`);
    return spec({
      type: "llama3",
      factor: readFactor(rope),
      lowFrequencyFactor: low,
      highFrequencyFactor: high,
      originalContextLength: rope.integer("original_max_position_embeddings", SIZE_LIMITS.contextLength),
    });
  },
  /** Phi-3's first files call LongRoPE "yarn", or "su". */
  yarn: (rope, spec, outer, pairs) =>
    rope.isSet("short_factor") ? readLongrope(rope, spec, outer, pairs) : readYarn(rope, spec, outer),
  su: readLongrope,
  longrope: readLongrope,
};

function readYarn(rope: ConfigReader, spec: (scaling?: RopeScaling) => RopeSpec, outer: Outer): RopeSpec {
  const { original, factor } = readStretch(rope, outer);
  const weights = ["mscale", "mscale_all_dim"].map((key) => rope.number(key, { min: 0, max: 100, fallback: 0 }));
  const [weight, allWeight] = weights as [number, number];
  const magnitude =
    weight !== 0 && allWeight !== 0
      ? yarnMagnitude(factor, weight) / yarnMagnitude(factor, allWeight)
      : yarnMagnitude(factor);
  const turns = { min: 1e-3, max: 1e6 };
  const scaled = spec({
    type: "yarn",
    factor,
    fastTurns: rope.number("beta_fast", { ...turns, fallback: 32 }),
    slowTurns: rope.number("beta_slow", { ...turns, fallback: 1 }),
    originalContextLength: original,
    truncate: rope.boolean("truncate", true),
  });
  return { ...scaled, magnitude: readMagnitude(rope, magnitude) };
}

/** Which of the two lists of factors holds depends on how long the KV cache is. */
function readLongrope(
  rope: ConfigReader,
  spec: (scaling?: RopeScaling) => RopeSpec,
  outer: Outer,
  pairs: number,
): RopeSpec {
  const { original, factor } = readStretch(rope, outer);
  const scaledBy = (key: string): RopeSpec => {
    const isFactor = (value: unknown): value is number => typeof value === "number" && value > 0 && value < Infinity;
    const factors = rope.list(key, pairs, isFactor);
    if (factors === undefined) throw rope.invalid(key, null, `${pairs} factors are expected`);
    return spec({ type: "longrope", factors });
  };
  return {
    ...scaledBy("short_factor"),
    long: { beyond: original, inverseFrequencies: scaledBy("long_factor").inverseFrequencies },
    magnitude: readMagnitude(rope, longropeMagnitude(factor, original)),
  };
}

/** The context length before scaling, and how many times that it is now. */
function readStretch(rope: ConfigReader, outer: Outer): { original: number; factor: number } {
  const key = "original_max_position_embeddings";
  const inner = rope.integer(key, { ...SIZE_LIMITS.contextLength, fallback: outer.contextLength });
  const original = outer.originalContextLength ?? inner;
  return { original, factor: rope.number("factor", { ...FACTOR, fallback: outer.contextLength / original }) };
}

function readFactor(rope: ConfigReader): number {
  return rope.number("factor", { min: 1, max: FACTOR.max });
}

function readMagnitude(rope: ConfigReader, fallback: number): number {
  return rope.number("attention_factor", { ...FACTOR, fallback });
}
