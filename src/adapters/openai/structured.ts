/** `response_format` → the constraint of `generate`: it is enforced, whatever `strict` says. */
import type { GenerateOptions } from "../../api/generate-options";
import { ApiError, unsupported } from "./api-error";
import { isRecord, type RequestFields } from "./request-fields";

/** @param hasTools a constraint holds for the whole answer, so that a call could not be written */
export function structureOf(fields: RequestFields, hasTools: boolean): GenerateOptions {
  const format = fields.take("response_format");
  if (format === undefined) return {};
  const type = isRecord(format) ? format["type"] : undefined;
  if (!isRecord(format) || (type !== "text" && type !== "json_object" && type !== "json_schema")) {
    const message = 'response_format must be { type: "text" }, "json_object" or "json_schema"';
    throw new ApiError(400, message, null, "response_format");
  }
  if (type === "text") return {};
  if (hasTools) throw unsupported("response_format", `response_format ${type} is not supported together with tools`);
  return { constraint: { jsonSchema: type === "json_object" ? { type: "object" } : schemaOf(format["json_schema"]) } };
}

function schemaOf(given: unknown): Record<string, unknown> {
  const unknown = isRecord(given)
    ? Object.keys(given).find((name) => !["name", "description", "schema", "strict"].includes(name))
    : undefined;
  if (unknown !== undefined) {
    const param = `response_format.json_schema.${unknown}`;
    throw new ApiError(400, `${param} is not known`, "unknown_parameter", param);
  }
  if (isRecord(given) && isRecord(given["schema"])) return given["schema"];
  const param = "response_format.json_schema";
  throw new ApiError(400, `${param} must be { name, schema }, with a JSON schema`, null, param);
}
