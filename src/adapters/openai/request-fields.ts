/** The fields of a request: each is read, or named as harmless, or refused by its name. */
import { ApiError, unsupported } from "./api-error";

export class RequestFields {
  readonly #body: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();

  /** @throws ApiError 400 for a body that is no JSON object */
  constructor(text: string) {
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch (cause) {
      throw new ApiError(400, `the body is not valid JSON: ${String(cause)}`);
    }
    if (!isRecord(body)) throw new ApiError(400, "the body is no JSON object");
    this.#body = body;
  }

  /** Null stands for "not set". */
  take(name: string): unknown {
    this.#read.add(name);
    return this.#body[name] ?? undefined;
  }

  number(name: string): number | undefined {
    return this.#typed(name, "number") as number | undefined;
  }

  flag(name: string): boolean {
    return (this.#typed(name, "boolean") as boolean | undefined) ?? false;
  }

  text(name: string): string | undefined {
    return this.#typed(name, "string") as string | undefined;
  }

  whole(name: string, min: number, max: number): number | undefined {
    const value = this.number(name);
    if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return value;
    throw new ApiError(400, `${name} is ${value}; it must be a whole number from ${min} to ${max}`, null, name);
  }

  record(name: string): Record<string, unknown> | undefined {
    const value = this.take(name);
    if (value === undefined || isRecord(value)) return value;
    throw new ApiError(400, `${name} must be an object`, null, name);
  }

  /** Only these values, which ask for nothing that is not done anyway. */
  allow(name: string, ...values: unknown[]): void {
    const value = this.take(name);
    if (value === undefined || values.some((one) => JSON.stringify(one) === JSON.stringify(value))) return;
    throw unsupported(name, `${name} is not supported here${values.length === 0 ? "" : `, except ${list(values)}`}`);
  }

  /** Says something to a server that has users and a store; here there are none. */
  ignore(...names: string[]): void {
    for (const name of names) this.#read.add(name);
  }

  /** @throws ApiError 400 for the first field that nobody has read */
  refuseRest(): void {
    for (const [name, value] of Object.entries(this.#body)) {
      if (this.#read.has(name) || value === null) continue;
      throw new ApiError(400, `Unrecognized request argument supplied: ${name}`, "unknown_parameter", name);
    }
  }

  #typed(name: string, type: "number" | "boolean" | "string"): unknown {
    const value = this.take(name);
    if (value === undefined || typeof value === type) return value;
    throw new ApiError(400, `${name} is ${JSON.stringify(value)}; it must be a ${type}`, null, name);
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function list(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(" and ");
}
