/**
 * `tool_choice` that forces a call: the answer is held to a JSON object with the tool's name and arguments that its schema
 * allows, and read as a call. So it can be had of every model whose template shows it the tools, whatever its own marks.
 */
import type { AnswerConstraint } from "../../api/constraint-option";
import { newCallId, type AnswerPart } from "../../chat/answer-parts";
import type { ToolDefinition } from "../../tokenizer/tokenizer";
import type { ChoiceEvent } from "./answers";
import { ApiError, apiErrorOf, unsupported } from "./api-error";
import { isRecord } from "./request-fields";

/**
 * One call of one of these tools.
 *
 * @throws ApiError 400 for schemas whose references would lead elsewhere inside another schema
 */
export function callConstraint(tools: readonly ToolDefinition[]): AnswerConstraint {
  const [only, ...others] = tools.map(({ name, parameters = { type: "object" } }) => {
    const references = referencesIn(parameters);
    const astray = references.find((reference) => !/^#\/(\$defs|definitions)\//.test(reference));
    if (astray !== undefined || (references.length > 0 && tools.length > 1)) {
      const remedy = astray === undefined ? "tool_choice can name this one function" : `${astray} is not below $defs`;
      throw unsupported("tool_choice", `parameters of ${name} have references: ${remedy}`);
    }
    const { $defs, definitions, ...schema } = parameters;
    return {
      ...(isRecord($defs) && { $defs }),
      ...(isRecord(definitions) && { definitions }),
      type: "object",
      properties: { name: { const: name }, arguments: schema },
      required: ["name", "arguments"],
      additionalProperties: false,
    };
  });
  if (only === undefined)
    throw new ApiError(400, "tool_choice forces a call, and there are no tools", null, "tool_choice");
  return { jsonSchema: others.length === 0 ? only : { anyOf: [only, ...others] } };
}

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isRecord(value)) return [];
  const own = typeof value["$ref"] === "string" ? [value["$ref"]] : [];
  return [...own, ...Object.values(value).flatMap(referencesIn)];
}

/**
 * The same events, with the call in place of its text. What a limit has cut is no call, but text.
 *
 * @throws ApiError with `tool_choice` as what it is about, where the constraint cannot be had
 */
export async function* readAsCalls(events: AsyncIterable<ChoiceEvent>): AsyncGenerator<ChoiceEvent, undefined> {
  const texts = new Map<number, string>();
  try {
    for await (const event of events) {
      const { index } = event;
      if ("chunk" in event) {
        texts.set(index, (texts.get(index) ?? "") + event.chunk.text);
        yield { index, chunk: { ...event.chunk, parts: [] } };
      } else {
        const text = texts.get(index) ?? "";
        const part: AnswerPart = event.end.constraint === "complete" ? callIn(text) : { type: "text", text };
        yield { index, chunk: { text: "", tokens: [], parts: [part] } };
        yield event;
      }
    }
  } catch (error) {
    const { status, message, code, param } = apiErrorOf(error);
    throw new ApiError(status, message, code, param === "response_format" ? "tool_choice" : param);
  }
}

function callIn(text: string): AnswerPart {
  const call = JSON.parse(text) as { name: string; arguments: Record<string, unknown> }; // as its constraint says
  return { type: "tool-call", id: newCallId(), name: call.name, arguments: call.arguments };
}
