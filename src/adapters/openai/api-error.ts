/** Failures in the words of OpenAI's API: an HTTP status and `{ error: { message, type, param, code } }`. */
import { WordloomError, type WordloomErrorCode } from "../../errors";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code: string | null = null,
    readonly param: string | null = null,
  ) {
    super(message);
  }

  body(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    const type = this.status >= 500 ? "server_error" : "invalid_request_error";
    return { error: { message: this.message, type, param: this.param, code: this.code } };
  }
}

export const unsupported = (param: string, message: string) => new ApiError(400, message, "unsupported", param);

/** What is not listed is a fault of the model or the device: 500. */
const STATUS: Partial<Record<WordloomErrorCode, number>> = {
  "option-invalid": 400,
  "prompt-too-long": 400,
  "template-missing": 400,
  "template-failed": 400,
  "tools-unsupported": 400,
  "access-denied": 401,
  "model-not-found": 404,
  "rate-limited": 429,
  "server-failed": 502,
  "network-failed": 502,
  "cors-refused": 502,
  "device-lost": 503,
  "out-of-memory": 503,
  "webgpu-unavailable": 503,
  disposed: 503,
};

/** Wordloom's names of options → the API's. */
const PARAMETERS: Readonly<Record<string, string>> = {
  maxNewTokens: "max_tokens",
  topP: "top_p",
  topK: "top_k",
  minP: "min_p",
  repetitionPenalty: "repetition_penalty",
  frequencyPenalty: "frequency_penalty",
  presencePenalty: "presence_penalty",
  logitBias: "logit_bias",
  topLogprobs: "top_logprobs",
  templateOptions: "chat_template_kwargs",
  constraint: "response_format",
  temperature: "temperature",
  seed: "seed",
  stop: "stop",
  tools: "tools",
};

export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, message, remedy } = WordloomError.from(error);
  const option = code === "option-invalid" ? /^\w+/.exec(message)?.[0] : undefined;
  const param = option !== undefined && Object.hasOwn(PARAMETERS, option) ? PARAMETERS[option] : undefined;
  const words = `${message}. ${remedy}`;
  return new ApiError(STATUS[code] ?? 500, words, code === "prompt-too-long" ? "context_length_exceeded" : code, param);
}

/** The client repeats what failed with 409, 429 or 500 and more; of these only a server's trouble may pass. */
export function errorResponse(error: unknown): Response {
  const failure = apiErrorOf(error);
  const mayPass = failure.status === 429 || failure.status === 502;
  return Response.json(failure.body(), {
    status: failure.status,
    headers: { "x-should-retry": String(mayPass) },
  });
}
