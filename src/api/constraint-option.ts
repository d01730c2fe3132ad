/** What `constraint` may be, checked in shape; what it says is read where the model is. */
import type { Constraint } from "../structured/constraint";
import { given, invalid } from "./option-checks";
import { conflict, stringsOf } from "./token-options";

/**
 * Holds the whole answer to a form; exactly one of these. README, "Structured output", says what of each is read.
 *
 * - `jsonSchema`: JSON that a schema allows, or (true) any JSON. A keyword that is not enforced is refused by its name.
 * - `regex`: a text that a regular expression matches as a whole
 * - `grammar`: EBNF as xgrammar reads it; its rule `root` is the answer
 * - `choice`: one of several texts
 */
export type AnswerConstraint =
  | { jsonSchema: Readonly<Record<string, unknown>> | true }
  | { regex: string | RegExp }
  | { grammar: string }
  | { choice: readonly string[] };

const KINDS = ["jsonSchema", "regex", "grammar", "choice"] as const;

/** Options that would end, begin or cut an answer against its constraint. */
const CONTRADICTING = ["stop", "ignoreEos", "minNewTokens", "forcedTokens"] as const;

/** @throws WordloomError option-invalid */
export function resolveConstraint(
  options: { constraint?: AnswerConstraint } & { [name in (typeof CONTRADICTING)[number]]?: unknown },
): Constraint | undefined {
  const value: unknown = options.constraint;
  if (!given(value)) return undefined;
  const entries =
    typeof value === "object" && value !== null ? Object.entries(value).filter(([, one]) => given(one)) : [];
  const [entry] = entries;
  const kind = KINDS.find((name) => name === entry?.[0]);
  if (entry === undefined || entries.length !== 1 || kind === undefined) {
    throw invalid("constraint", value, `an object with exactly one of: ${KINDS.join(", ")}`);
  }
  const beside = CONTRADICTING.find((name) => isSet(options[name]));
  if (beside !== undefined)
    throw conflict(`constraint and ${beside} are given; the constraint alone says what is whole`);
  return constraintOf(kind, entry[1]);
}

/** Not one of the values that mean nothing. */
function isSet(value: unknown): boolean {
  if (!given(value) || value === false || value === 0) return false;
  return !((Array.isArray(value) || value instanceof Uint32Array) && value.length === 0);
}

function constraintOf(kind: (typeof KINDS)[number], value: unknown): Constraint {
  switch (kind) {
    case "jsonSchema":
      return { kind: "json-schema", schema: plainSchema(value) };
    case "regex":
      if (value instanceof RegExp) return { kind: "regex", source: value.source, flags: value.flags };
      if (typeof value !== "string") throw invalid("constraint.regex", value, "a string or a RegExp");
      return { kind: "regex", source: value, flags: "u" };
    case "grammar":
      if (typeof value !== "string" || value === "") throw invalid("constraint.grammar", value, "a string of EBNF");
      return { kind: "grammar", text: value };
    case "choice": {
      const texts = Array.isArray(value) ? stringsOf("constraint.choice", value) : [];
      if (texts.length === 0) throw invalid("constraint.choice", value, "a list of texts, at least one");
      return { kind: "choice", texts };
    }
  }
}

/** As JSON has it, so that it can be posted, and cannot be changed later. */
function plainSchema(value: unknown): unknown {
  if (value === true) return true;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid("constraint.jsonSchema", value, "a schema object, or true for any JSON");
  }
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    throw invalid("constraint.jsonSchema", value, "a schema that can be written as JSON");
  }
}
