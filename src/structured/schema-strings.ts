import { EMPTY, repeat, sequence, type Expression } from "./expression";
import { ANY_CHAR, quoted } from "./json-values";
import { regexExpression } from "./regex";
import { countAt, onlyWith, refusal, type SchemaObject } from "./schema-keywords";

const DAY =
  "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))";
const TIME = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";
const HEX = "[0-9a-f]";
const BYTE = "(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])";
const LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";

/** Texts that have each format, if not all of them: no 29th of February, no quoted local parts. */
const FORMATS: Readonly<Record<string, string>> = {
  date: `\\d{4}-${DAY}`,
  time: TIME,
  "date-time": `\\d{4}-${DAY}T${TIME}`,
  uuid: `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
  ipv4: `${BYTE}(?:\\.${BYTE}){3}`,
  email: `[A-Za-z0-9_+-]+(?:\\.[A-Za-z0-9_+-]+)*@${LABEL}(?:\\.${LABEL})+`,
};

/** Lengths are in characters (code points), as JSON schema counts them. */
export function stringExpression(schema: SchemaObject, keywords: readonly string[], path: string): Expression {
  const { pattern, format } = schema;
  if (pattern !== undefined) {
    if (typeof pattern !== "string") throw refusal(`${path}.pattern`, "must be a string");
    onlyWith(keywords, "pattern", ["type"], path);
    return quoted(regexExpression(pattern, { name: `${path}.pattern`, matches: "part" }));
  }
  if (format !== undefined) {
    const known = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
    if (known === undefined) {
      throw refusal(path, `has the format ${JSON.stringify(format)}`, `Known are: ${Object.keys(FORMATS).join(", ")}.`);
    }
    onlyWith(keywords, "format", ["type"], path);
    return quoted(regexExpression(known, { name: `${path}.format`, matches: "all" }));
  }
  const min = countAt(schema, "minLength", path) ?? 0;
  const max = countAt(schema, "maxLength", path) ?? Infinity;
  if (min > max) throw refusal(path, `has minLength ${min} and maxLength ${max}; no string has both`);
  return quoted(max === 0 ? EMPTY : sequence(repeat(ANY_CHAR, min, max)));
}
