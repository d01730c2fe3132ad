/** Checks of single options: honoured, or refused by name with option-invalid. */
import { WordloomError } from "../errors";

/** @throws WordloomError option-invalid for the first key that `known` does not list */
export function refuseUnknown(options: object, known: Readonly<Record<string, true>>, method: string): void {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) {
      throw new WordloomError("option-invalid", `${method} has no option "${name}"`, {
        remedy: `Remove it, or choose one of: ${Object.keys(known).join(", ")}.`,
      });
    }
  }
}

export function invalid(name: string, value: unknown, expected: string): WordloomError {
  return new WordloomError("option-invalid", `${name} is ${inWords(value)}; it must be ${expected}`);
}

/** Null stands for "not set" beside undefined: options often come from JSON, which has only null. */
export function given<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** The boolean option `name`, or `byDefault` where it is not set. */
export function flag<K extends string>(
  options: { readonly [name in K]?: boolean },
  name: K,
  byDefault: boolean,
): boolean {
  const value: unknown = options[name];
  if (!given(value)) return byDefault;
  if (typeof value !== "boolean") throw invalid(name, value, "true or false");
  return value;
}

/** The whole number `name`, within [min, max], or `byDefault` where it is not set. */
export function whole<K extends string>(
  options: { readonly [name in K]?: number },
  name: K,
  byDefault: number,
  { min, max }: { min: number; max: number },
): number {
  const value: unknown = options[name];
  if (!given(value)) return byDefault;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min || value > max) {
    const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
    throw invalid(name, value, `a whole number ${range}`);
  }
  return value;
}

/** The finite number `name` within the range, or `byDefault` where it is not set. */
export function real<K extends string>(
  options: { readonly [name in K]?: number },
  name: K,
  byDefault: number,
  range: { min?: number; above?: number; max?: number },
): number {
  const value: unknown = options[name];
  if (!given(value)) return byDefault;
  const { min = -Infinity, above = -Infinity, max = Infinity } = range;
  if (typeof value !== "number" || !Number.isFinite(value) || value < min || value <= above || value > max) {
    const bounds = [
      range.min === undefined ? "" : `at least ${range.min}`,
      range.above === undefined ? "" : `above ${range.above}`,
      range.max === undefined ? "" : `at most ${range.max}`,
    ].filter((bound) => bound !== "");
    throw invalid(name, value, bounds.length === 0 ? "a finite number" : `a finite number, ${bounds.join(" and ")}`);
  }
  return value;
}

function inWords(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

/** One of `values`, or `byDefault` where it is not set. */
export function oneOf<K extends string, V extends string>(
  options: { readonly [name in K]?: unknown },
  name: K,
  values: readonly V[],
  byDefault: V,
): V {
  const value: unknown = options[name];
  if (!given(value)) return byDefault;
  const found = values.find((one) => one === value);
  if (found === undefined) throw invalid(name, value, `one of ${values.map((one) => `"${one}"`).join(", ")}`);
  return found;
}
