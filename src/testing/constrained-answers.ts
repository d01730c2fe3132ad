/** Answers of a model under the schemas of json-schemas.ts, each judged by a validator that is not ours. */
import { Ajv2020 } from "ajv/dist/2020";
import type { TextGenerator } from "../index";
import { JSON_SCHEMAS } from "./json-schemas";

const ajv = new Ajv2020({ strict: false, validateFormats: false });

export interface ConstrainedAnswer {
  text: string;
  tokens: number;
  isFinished: boolean;
}

/**
 * One answer, and that it keeps what is promised: what is finished parses and is valid, what is not says so.
 *
 * @throws with the answer
 */
export async function constrainedAnswer(
  generator: TextGenerator,
  prompt: string,
  name: string,
  options: { temperature: number; seed: number; maxNewTokens: number },
): Promise<ConstrainedAnswer> {
  const jsonSchema = JSON_SCHEMAS[name];
  if (!jsonSchema) throw new Error(`there is no schema "${name}"`);
  const run = generator.generate(prompt, { constraint: { jsonSchema }, ...options });
  const { finishReason, constraint, usage } = await run.end;
  const text = await run.text();
  const fail = (why: string) => new Error(`${name}: ${text} ${why}`);
  const isFinished = constraint === "complete";
  if (finishReason !== (isFinished ? "stop" : "length")) throw fail(`ended by ${finishReason}, ${constraint}`);
  const value = await run.value().catch((error: unknown) => {
    if (isFinished || (error as { code?: unknown }).code !== "answer-incomplete") throw error;
    return undefined;
  });
  if (isFinished && !ajv.validate(jsonSchema, value)) throw fail(ajv.errorsText());
  if (isFinished && JSON.stringify(JSON.parse(text)) !== JSON.stringify(value)) throw fail("is another value");
  return { text, tokens: usage.completionTokens, isFinished };
}
