/**
 * `wordloom/openai`: OpenAI's API without a server, as the `fetch` of its client.
 *
 * Source of the shapes: OpenAI's API reference, chat completions and completions, and the types of the `openai` package.
 */
import { LazyGenerator, type AdaptedGenerator, type GeneratorSource } from "../generator";
import { ApiError, errorResponse, unsupported } from "./api-error";
import { chatChunks, chatCompletion, chatPlan } from "./chat-completions";
import { completion, completionChunks, completionPlan } from "./completions";
import { eventResponse } from "./event-stream";
import { RequestFields } from "./request-fields";
import type { AnswerHead } from "./answers";

export type { AdaptedGenerator, GeneratorSource } from "../generator";

/** One generator, called "wordloom"; or several, by the names that requests give in `model`. */
export type OpenAIModels = GeneratorSource | Readonly<Record<string, GeneratorSource>>;

/** What the `openai` package calls. */
export type OpenAIFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A function to be given to the client: `new OpenAI({ apiKey: "-", baseURL: "http://wordloom/v1", fetch })`. Nothing is
 * sent anywhere, unless the generator's own model is on a server; the address only has to end in the API's paths.
 *
 * - POST /chat/completions and /completions, whole and as a stream; GET /models and /models/{name}; anything else: 404
 * - each field is honoured or refused by its name (400), but for those that mean nothing here: user, metadata,
 *   safety_identifier, prompt_cache_key, prompt_cache_retention
 * - several answers (`n`, lists of prompts) are written one after the other
 *
 * A request that is aborted rejects with the signal's reason, and stops the answer.
 *
 * @param models a `TextGenerator`, a promise of one, or a function that loads one when it is first asked for
 */
export function createOpenAIFetch(models: OpenAIModels): OpenAIFetch {
  const created = Math.floor(Date.now() / 1000);
  const generators = new Map(
    Object.entries(isSource(models) ? { wordloom: models } : models).map(([name, source]) => [
      name,
      new LazyGenerator(source),
    ]),
  );
  const modelObject = (id: string) => ({ id, object: "model", created, owned_by: "wordloom" });

  const answer = async (path: string, method: string, body: string, abort: AbortController): Promise<Response> => {
    if (method === "GET" && path === "/models") {
      return Response.json({ object: "list", data: [...generators.keys()].map(modelObject) });
    }
    const named = /^\/models\/(.+)$/.exec(path)?.[1];
    if (method === "GET" && named !== undefined) {
      const name = decodeURIComponent(named);
      if (!generators.has(name)) throw noModel(name);
      return Response.json(modelObject(name));
    }
    if (method === "POST" && path === "/embeddings") throw unsupported("model", "embeddings are not supported");
    const isChat = path === "/chat/completions";
    if (method !== "POST" || !(isChat || path === "/completions")) {
      throw new ApiError(404, `Unknown request URL: ${method} ${path}`, "unknown_url");
    }
    const fields = new RequestFields(body);
    const model = fields.text("model");
    if (model === undefined) throw new ApiError(400, "you must provide a model parameter", null, "model");
    const lazy = generators.get(model);
    if (!lazy) throw noModel(model);
    const generator = await lazy.get();
    const head = headOf(generator, model, isChat ? "chatcmpl" : "cmpl");
    const { signal } = abort;
    if (isChat) {
      const plan = chatPlan(fields, generator);
      return plan.stream
        ? eventResponse(chatChunks(generator, plan, head, signal), abort)
        : Response.json(await chatCompletion(generator, plan, head, signal));
    }
    const plan = completionPlan(fields, generator);
    return plan.stream
      ? eventResponse(completionChunks(generator, plan, head, signal), abort)
      : Response.json(await completion(generator, plan, head, signal));
  };

  return async (input, init = {}) => {
    const request = new Request(input instanceof Request ? input : new URL(input, "http://wordloom"), init);
    const abort = new AbortController();
    const { signal } = request;
    signal.throwIfAborted();
    signal.addEventListener("abort", () => abort.abort(signal.reason), { once: true });
    const path = /\/(chat\/completions|completions|embeddings|models(\/.*)?)$/.exec(new URL(request.url).pathname);
    try {
      return await answer(path?.[0] ?? new URL(request.url).pathname, request.method, await request.text(), abort);
    } catch (error) {
      if (abort.signal.aborted) throw abort.signal.reason;
      return errorResponse(error);
    }
  };
}

function isSource(models: OpenAIModels): models is GeneratorSource {
  return typeof models === "function" || models instanceof Promise || "generate" in models;
}

function noModel(name: string): ApiError {
  return new ApiError(404, `The model ${JSON.stringify(name)} does not exist`, "model_not_found", "model");
}

function headOf({ info }: AdaptedGenerator, model: string, prefix: string): AnswerHead {
  return {
    id: `${prefix}-${crypto.randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model,
    // What the numbers depend on beside the model.
    system_fingerprint: ["wordloom", info.backend, info.dtype].filter(Boolean).join("-"),
  };
}
