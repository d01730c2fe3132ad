/** Which layers see a window only: `layer_types`, `sliding_window`, and the keys that older files have instead. */
import type { ConfigReader } from "./config-reader";
import { SIZE_LIMITS } from "./sizes";

export type LayerType = "full_attention" | "sliding_attention";

/**
 * `layer_types`, or where that is not set, what `fallback` says of each layer.
 *
 * @throws config-unsupported for a type other than these two; config-invalid for a list of another length
 */
export function readLayerTypes(
  config: ConfigReader,
  layerCount: number,
  fallback: (layer: number) => LayerType,
): LayerType[] {
  const isType = (type: unknown): type is LayerType => type === "full_attention" || type === "sliding_attention";
  return config.list("layer_types", layerCount, isType) ?? Array.from({ length: layerCount }, (_, i) => fallback(i));
}

/** `sliding_window`: null is no window, absent is the architecture's default. */
export function readWindow(config: ConfigReader, fallback: number | undefined): number | undefined {
  if (config.isAbsent("sliding_window")) return fallback;
  return config.isSet("sliding_window") ? config.integer("sliding_window", SIZE_LIMITS.contextLength) : undefined;
}

/**
 * The window of each layer. @param window undefined: there is none, or it is switched off
 * @throws config-invalid where a layer slides and there is no window
 */
export function windowsOf(
  config: ConfigReader,
  types: readonly LayerType[],
  window: number | undefined,
): (number | undefined)[] {
  if (window === undefined && types.includes("sliding_attention")) {
    throw config.invalid("layer_types", types, "sliding_attention needs a sliding_window that is not switched off");
  }
  return types.map((type) => (type === "sliding_attention" ? window : undefined));
}

/**
 * Qwen's keys: `sliding_window` counts where `use_sliding_window` is true, in layers from `max_window_layers` on, or
 * where `layer_types` says so. @returns the window of each layer
 */
export function readQwenWindows(config: ConfigReader, layerCount: number): (number | undefined)[] {
  const stated = readWindow(config, 4096);
  const window = config.boolean("use_sliding_window", false) ? stated : undefined;
  const first = config.integer("max_window_layers", { min: 0, max: SIZE_LIMITS.layerCount.max, fallback: 28 });
  const types = readLayerTypes(config, layerCount, (layer) =>
    window !== undefined && layer >= first ? "sliding_attention" : "full_attention",
  );
  return windowsOf(config, types, window);
}
