/** Reads the rotary settings of a config.json, in transformers' spellings before and since version 5. */
import type { ConfigReader } from "./config-reader";
import { inverseFrequencies, type RopeScaling } from "./rope-frequencies";

const MAX_THETA = 1e12;

/**
 * Inverse frequencies for heads of `rotaryWidth`, from `rope_theta` and `rope_scaling` (or `rope_parameters`, which
 * holds both).
 *
 * @param config keys read: rope_theta, rope_scaling, rope_parameters, partial_rotary_factor
 * @throws config-unsupported for scaling other than default, linear and llama3; config-invalid for values that cannot be
 */
export function readInverseFrequencies(config: ConfigReader, rotaryWidth: number, defaultTheta: number): number[] {
  const theta = config.number("rope_theta", { min: 1, max: MAX_THETA, fallback: defaultTheta });
  config.only("partial_rotary_factor", 1);
  const older = config.object("rope_scaling");
  const newer = config.object("rope_parameters");
  if (newer === undefined) return readFrequencies(older, rotaryWidth, theta);
  const frequencies = readFrequencies(newer, rotaryWidth, theta);
  const contradicted =
    older !== undefined &&
    readFrequencies(older, rotaryWidth, theta).some((frequency, pair) => frequency !== frequencies[pair]);
  if (contradicted) throw config.invalid("rope_scaling", "set", "rope_parameters is set, too, and says something else");
  return frequencies;
}

function readFrequencies(rope: ConfigReader | undefined, rotaryWidth: number, outerTheta: number): number[] {
  if (rope === undefined) return inverseFrequencies(outerTheta, rotaryWidth, undefined);
  const theta = rope.number("rope_theta", { min: 1, max: MAX_THETA, fallback: outerTheta });
  const scaling = rope.choice(rope.isSet("rope_type") ? "rope_type" : "type", SCALINGS, "default")(rope);
  rope.only("partial_rotary_factor", 1);
  rope.isSet("type"); // the older name of rope_type; early Llama 3.1 files have both
  rope.finish();
  return inverseFrequencies(theta, rotaryWidth, scaling);
}

const SCALINGS: Readonly<Record<string, (rope: ConfigReader) => RopeScaling | undefined>> = {
  default: () => undefined,
  linear: (rope) => ({ type: "linear", factor: readFactor(rope) }),
  llama3: (rope) => {
    const low = rope.number("low_freq_factor", { min: 1e-3, max: 1e3 });
    const high = rope.number("high_freq_factor", { min: 1e-3, max: 1e3 });
    if (high <= low) throw rope.invalid("high_freq_factor", high, `more than low_freq_factor, ${low}, is expected`);
    return {
      type: "llama3",
      factor: readFactor(rope),
      lowFrequencyFactor: low,
      highFrequencyFactor: high,
      originalContextLength: rope.integer("original_max_position_embeddings", { min: 1, max: 2 ** 24 }),
    };
  },
};

function readFactor(rope: ConfigReader): number {
  return rope.number("factor", { min: 1, max: 1e4 });
}
