/**
 * Which kind of server answers, which model it has, and what it tells of it.
 *
 * Sources: llama.cpp, tools/server/README.md (`/v1/models`: owned_by "llamacpp" and `meta`; `/props`: n_ctx); vLLM,
 * vllm/entrypoints/openai/models (`/v1/models`: owned_by "vllm" and max_model_len); Ollama, docs/api (`/api/version`).
 */
import { WordloomError } from "../errors";
import type { Endpoint } from "./endpoint";
import { isRecord, stringOf } from "./json-values";
import type { ServerKind } from "./remote-types";
import type { ServerClient } from "./server-client";

export interface ServerFacts {
  server: ServerKind;
  model: string;
  contextLength: number | undefined;
  vocabSize: number | undefined;
  parameterCount: number | undefined;
}

interface ListedModel {
  id: string;
  ownedBy: string;
  contextLength: number | undefined;
  vocabSize: number | undefined;
  parameterCount: number | undefined;
}

const UNTOLD = { contextLength: undefined, vocabSize: undefined, parameterCount: undefined };

/**
 * Where the caller names both, nothing is asked.
 *
 * @param wanted.model the only one of the server where it is not given
 * @throws WordloomError option-invalid where a model has to be named; model-not-found; as ServerClient.getJson
 */
export async function detectServer(
  client: ServerClient,
  endpoint: Endpoint,
  wanted: { server: ServerKind | undefined; model: string | undefined },
  signal: AbortSignal,
): Promise<ServerFacts> {
  if (wanted.server !== undefined && wanted.model !== undefined) {
    return { server: wanted.server, model: wanted.model, ...UNTOLD };
  }
  const url = `${endpoint.api}/models`;
  const models = listedModels(url, await client.getJson(url, signal));
  const server = wanted.server ?? (await kindOf(client, endpoint, models, signal));
  const listed = chosenModel(endpoint, server, models, wanted.model);
  const { contextLength, vocabSize, parameterCount } = listed ?? UNTOLD;
  return {
    server,
    model: wanted.model ?? listed?.id ?? "",
    contextLength: contextLength ?? (server === "llama.cpp" ? await slotLength(client, endpoint, signal) : undefined),
    vocabSize,
    parameterCount,
  };
}

function listedModels(url: string, value: unknown): ListedModel[] {
  const data: unknown = isRecord(value) ? value["data"] : undefined;
  // Ollama without models gives null.
  if (!isRecord(value) || !(Array.isArray(data) || data === null)) {
    const remedy = "Check the address: it is that of the API, and mostly ends with /v1.";
    throw new WordloomError("model-not-found", `${url} does not list models as OpenAI's API does`, { remedy });
  }
  const items: readonly unknown[] = data ?? [];
  return items.filter(isRecord).map((item) => {
    const meta = isRecord(item["meta"]) ? item["meta"] : {};
    return {
      id: stringOf(item["id"]) ?? "",
      ownedBy: stringOf(item["owned_by"]) ?? "",
      contextLength: count(item["max_model_len"] ?? meta["n_ctx"]),
      vocabSize: count(meta["n_vocab"]),
      parameterCount: count(meta["n_params"]),
    };
  });
}

async function kindOf(
  client: ServerClient,
  endpoint: Endpoint,
  models: readonly ListedModel[],
  signal: AbortSignal,
): Promise<ServerKind> {
  if (models.some(({ ownedBy }) => ownedBy === "llamacpp")) return "llama.cpp";
  if (models.some(({ ownedBy }) => ownedBy === "vllm")) return "vllm";
  // Ollama's models have tags, "llama3.2:latest", or none are there; only then is it asked for what others do not have.
  const mayBeOllama = models.every(({ id, ownedBy }) => ownedBy === "library" || /:[^/]+$/.test(id));
  if (!mayBeOllama) return "openai";
  const version = await optionalJson(client, `${endpoint.root}/api/version`, signal);
  return isRecord(version) && typeof version["version"] === "string" ? "ollama" : "openai";
}

function chosenModel(
  { host }: Endpoint,
  server: ServerKind,
  models: readonly ListedModel[],
  wanted: string | undefined,
): ListedModel | undefined {
  if (wanted === undefined) {
    const [only] = models;
    if (models.length === 1 && only) return only;
    const names =
      models.length === 0
        ? "none"
        : models
            .slice(0, 8)
            .map(({ id }) => `"${id}"`)
            .join(", ");
    const message = `${host} has ${models.length} models (${names}${models.length > 8 ? ", …" : ""})`;
    throw new WordloomError("option-invalid", `${message}; the option model has to name one`, {
      remedy: "Name one of the server's models.",
    });
  }
  const found = models.find(
    ({ id }) => id === wanted || id === `${wanted}:latest` || fileName(id) === fileName(wanted),
  );
  // The others refuse a name they do not have; llama.cpp's server takes any, and would write with another model.
  if (!found && server === "llama.cpp") {
    const names = models.map(({ id }) => `"${id}"`).join(", ");
    throw new WordloomError("model-not-found", `${host} has no model "${wanted}"; it has ${names || "none"}`, {
      remedy: "Name one of the server's models, or none.",
    });
  }
  return found;
}

/** By default llama.cpp's server calls a model by the path of its file. */
function fileName(model: string): string {
  return model.replace(/^.*[/\\]/, "").replace(/\.gguf$/i, "");
}

/** Positions of one of llama.cpp's slots; an operator may have closed /props, then it is not known. */
async function slotLength(client: ServerClient, { root }: Endpoint, signal: AbortSignal): Promise<number | undefined> {
  const props = await optionalJson(client, `${root}/props`, signal);
  const settings = isRecord(props) ? props["default_generation_settings"] : undefined;
  return isRecord(settings) ? count(settings["n_ctx"]) : undefined;
}

/** Undefined where the server does not have it: that is an answer, too. */
async function optionalJson(client: ServerClient, url: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await client.getJson(url, signal);
  } catch (error) {
    if (error instanceof WordloomError) return undefined;
    throw error;
  }
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
