/** Typed reading of JSON that came from outside: a wrong shape is `file-invalid`, with the place in its message. */
import { WordloomError } from "../errors";

export type JsonRecord = Readonly<Record<string, unknown>>;

/** @param place in tokenizer.json, unless it begins with the name of a file */
export function invalid(place: string, expected: string): WordloomError {
  const where = place.startsWith("tokenizer") ? place : `tokenizer.json: ${place}`;
  return new WordloomError("file-invalid", `${where} should be ${expected}`);
}

/** A part of tokenizer.json of a kind that Wordloom does not compute exactly. */
export function unsupported(what: string): WordloomError {
  return new WordloomError("tokenizer-unsupported", `this tokenizer.json uses ${what}, which is not supported`);
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function record(value: unknown, place: string): JsonRecord {
  if (!isRecord(value)) throw invalid(place, "an object");
  return value;
}

export function list(value: unknown, place: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(place, "a list");
  return value;
}

export function text(value: unknown, place: string): string {
  if (typeof value !== "string") throw invalid(place, "a string");
  return value;
}

/** A string of one character, as where the reference has a `char`. */
export function character(value: unknown, place: string): string {
  const given = text(value, place);
  if (given !== String.fromCodePoint(given.codePointAt(0) ?? 0)) throw invalid(place, "one character");
  return given;
}

/** A whole number from 0 to 2^31 - 1: an id or a count. */
export function count(value: unknown, place: string): number {
  if (!isCount(value)) throw invalid(place, "a whole number from 0");
  return value;
}

export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0x7fffffff;
}

/** `absent` where the key is missing or null. */
export function flag(value: unknown, place: string, absent: boolean): boolean {
  if (value === undefined || value === null) return absent;
  if (typeof value !== "boolean") throw invalid(place, "true or false");
  return value;
}

/** The `type` of a component of tokenizer.json. */
export function typeOf(component: JsonRecord, place: string): string {
  return text(component["type"], `${place}.type`);
}
