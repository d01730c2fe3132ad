/** The one place where a request for structured output would become options of `generate`. */
import type { GenerateOptions } from "../../api/generate-options";
import { ApiError, unsupported } from "./api-error";
import { isRecord, type RequestFields } from "./request-fields";

/** @throws ApiError 400 `unsupported` for anything but text */
export function structureOf(fields: RequestFields): GenerateOptions {
  const format = fields.take("response_format");
  if (format === undefined) return {};
  const type = isRecord(format) ? format["type"] : undefined;
  if (type === "text") return {};
  if (type === "json_object" || type === "json_schema") {
    throw unsupported("response_format", `response_format ${type} is not supported yet: nothing would enforce it`);
  }
  throw new ApiError(400, 'response_format must be { type: "text" }', null, "response_format");
}
