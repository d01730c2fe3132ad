/**
 * A model on the Hugging Face hub, or a server that answers like it. One request gives the commit behind a branch or
 * tag, the names and sizes of all files, and the SHA-256 of those in large file storage; then only the files that are
 * needed are asked for, all of that commit.
 *
 * Source: huggingface_hub, `HfApi.model_info(revision, files_metadata=True)`, which reads the same answer.
 */
import { WordloomError } from "../errors";
import { HttpClient, type HttpOptions } from "./http-client";
import { HttpFile } from "./http-file";
import type { ModelFiles, ModelIdentity } from "./model-files";

export const HUB_ENDPOINT = "https://huggingface.co";

export interface HubOptions extends HttpOptions {
  /** Address of the hub; default: HUB_ENDPOINT. */
  endpoint?: string | undefined;
  /** Sent to the endpoint alone; a redirect to another server goes without it. */
  token?: string | undefined;
  /** What an earlier visit knew of this model; undefined if nothing. Asked before the network is. */
  recall?: ((key: string) => Promise<unknown>) | undefined;
}

export interface HubRepository {
  /** "org/name" */
  name: string;
  /** A branch, a tag, a commit. */
  revision: string;
  /** Of one file in it, if it names one: "model-q4.gguf", "q4/model.gguf". */
  file: string | undefined;
}

interface HubFile {
  sizeBytes: number | undefined;
  sha256: string | undefined;
  /** Of the content, in git. */
  blobId: string | undefined;
}

export interface HubListing {
  /** 40 hexadecimal digits. */
  commit: string;
  /** By path. */
  files: Readonly<Record<string, HubFile>>;
}

export interface HubFiles extends ModelFiles {
  listing(signal?: AbortSignal): Promise<HubListing>;
  identity(signal?: AbortSignal): Promise<ModelIdentity>;
}

/**
 * "hf:org/name[@revision][/file.gguf]"; a revision with a slash is written as it is, and then a file cannot follow.
 *
 * @throws WordloomError source-unsupported
 */
export function parseHubSource(source: string): HubRepository {
  const match = /^hf:([\w.-]+\/[\w.-]+)(?:@([^/@]+(?:\/[^@]*)?))?((?:\/[^/@]+)*\.gguf)?$/i.exec(source.trim());
  const [, name, revision = "main", file] = match ?? [];
  if (name === undefined) {
    throw new WordloomError("source-unsupported", `${source} is not of the form hf:org/name or hf:org/name@revision`);
  }
  const inRevision = file === undefined ? /^([^/]+)\/(.+\.gguf)$/i.exec(revision) : null; // a file after a revision
  if (inRevision !== null) return { name, revision: inRevision[1] ?? "", file: inRevision[2] };
  return { name, revision, file: file?.slice(1) };
}

/** @throws WordloomError option-invalid if the endpoint is no address */
export function openHub({ name, revision }: HubRepository, options: HubOptions = {}): HubFiles {
  const endpoint = (options.endpoint ?? HUB_ENDPOINT).replace(/\/+$/, "");
  if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint)) {
    throw new WordloomError("option-invalid", `endpoint is "${endpoint}"; the address of a hub is expected`);
  }
  const headers = new Headers(options.headers);
  if (options.token !== undefined) headers.set("Authorization", `Bearer ${options.token}`);
  const client = new HttpClient({ ...options, headers });
  const source = endpoint === HUB_ENDPOINT ? `hf:${name}` : `hf:${name} at ${endpoint}`;
  const recallKey = `${endpoint} ${name} ${revision}`;
  let known: Promise<HubListing> | undefined;

  const listing = (signal?: AbortSignal): Promise<HubListing> => {
    known ??= read(signal).catch((error: unknown) => {
      known = undefined; // another try may do better
      throw error;
    });
    return known;
  };
  const read = async (signal?: AbortSignal): Promise<HubListing> => {
    const recalled = asListing(await options.recall?.(recallKey));
    if (recalled !== undefined) return recalled;
    const url = `${endpoint}/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
    const response = await client.request(url, { signal }, [401, 404]);
    if (!response.ok) throw await notThere(response, `${name}@${revision}`, options.token !== undefined);
    return parseListing(await readAnswer(response, url), url);
  };
  return {
    description: `${endpoint}/${name}/resolve/${encodeURIComponent(revision)}/`,
    listing,
    list: async (signal) => Object.keys((await listing(signal)).files),
    async find(file, signal) {
      const { commit, files } = await listing(signal);
      const facts = Object.hasOwn(files, file) ? files[file] : undefined;
      if (facts === undefined) return undefined;
      const path = file.split("/").map(encodeURIComponent).join("/");
      const { sizeBytes, sha256, blobId } = facts;
      const url = `${endpoint}/${name}/resolve/${commit}/${path}`;
      return new HttpFile({ name: file, url, sizeBytes, sha256, validator: sha256 ?? blobId }, client);
    },
    async identity(signal) {
      const value = await listing(signal);
      const key = `${endpoint} ${name} ${value.commit}`;
      return { source, revision: value.commit, key, ownServer: false, recall: { key: recallKey, value } };
    },
  };
}

/** The hub says 401, too, where there is no such model: it does not tell which private ones exist. */
async function notThere(response: Response, what: string, hasToken: boolean): Promise<WordloomError> {
  await response.body?.cancel();
  const reason = response.headers.get("X-Error-Code");
  if (reason === "RevisionNotFound") {
    return new WordloomError("model-not-found", `the hub has the model, but not ${what}`, {
      remedy: "Check the branch, tag or commit after the @.",
    });
  }
  if (response.status === 404) return new WordloomError("model-not-found", `the hub has no ${what} (status 404)`);
  return new WordloomError("access-denied", `the hub has no ${what}, or does not give it out (status 401)`, {
    remedy: hasToken
      ? "Check the name; accept the model's terms on its page, if it has any; check that the token may read it."
      : "Check the name; if the model is private or has terms to accept, pass a token.",
  });
}

async function readAnswer(response: Response, url: string): Promise<unknown> {
  try {
    return (await response.json()) as unknown;
  } catch (cause) {
    throw new WordloomError("network-failed", `${url} did not answer with JSON`, {
      remedy: "Check the endpoint: it has to answer like the Hugging Face hub.",
      cause,
    });
  }
}

/** @throws WordloomError network-failed where it is no such answer */
function parseListing(answer: unknown, url: string): HubListing {
  const { sha, siblings } = (typeof answer === "object" && answer !== null ? answer : {}) as Record<string, unknown>;
  const isCommit = typeof sha === "string" && /^[0-9a-f]{40}$/.test(sha);
  if (!isCommit || !Array.isArray(siblings)) {
    throw new WordloomError("network-failed", `${url} did not name a commit and its files`, {
      remedy: "Check the endpoint: it has to answer like the Hugging Face hub.",
    });
  }
  const files: Record<string, HubFile> = {};
  for (const sibling of siblings as unknown[]) {
    const { rfilename, size, blobId, lfs } = (sibling ?? {}) as Record<string, unknown>;
    if (typeof rfilename !== "string") continue;
    const stored = (typeof lfs === "object" && lfs !== null ? lfs : {}) as Record<string, unknown>;
    const bytes = stored["size"] ?? size;
    const sha256 = stored["sha256"];
    files[rfilename] = {
      sizeBytes: Number.isSafeInteger(bytes) ? (bytes as number) : undefined,
      sha256: typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256) ? sha256 : undefined,
      blobId: typeof blobId === "string" ? blobId : undefined,
    };
  }
  return { commit: sha, files };
}

/** What `recall` gave, if it is what was remembered: only this module writes it, but a browser may lose half of it. */
function asListing(value: unknown): HubListing | undefined {
  const { commit, files } = (typeof value === "object" && value !== null ? value : {}) as Partial<HubListing>;
  const isWhole = typeof commit === "string" && typeof files === "object" && files !== null;
  return isWhole ? { commit, files } : undefined;
}
