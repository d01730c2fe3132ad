/** The address of an API of OpenAI's shape. */
import { WordloomError } from "../errors";

export interface Endpoint {
  /** What paths such as /chat/completions are below; without a slash at its end. */
  api: string;
  /** The server's own root, where paths outside of OpenAI's API are: `api` without its /v1. */
  root: string;
  /** For people: "example.com", "localhost:8080". */
  host: string;
}

/**
 * An address without a path means its /v1, where vLLM, llama.cpp's server and Ollama have the API; any other path is
 * taken as it is.
 *
 * @param url absolute, or relative to `baseUrl`
 * @throws WordloomError option-invalid for what is no such address; the message never has a password in it
 */
export function parseEndpoint(url: string, baseUrl: string | undefined): Endpoint {
  if (!URL.canParse(url, baseUrl)) throw refused("is no address", "Pass one such as http://localhost:8080/v1.");
  const { protocol, origin, host, pathname, search, hash, username, password } = new URL(url, baseUrl);
  if (protocol !== "http:" && protocol !== "https:") throw refused(`begins with ${protocol}`, "Pass an http address.");
  if (username !== "" || password !== "") throw refused("has a name or a password in it", "Pass headers instead.");
  if (search !== "" || hash !== "")
    throw refused("has a ? or # in it", "Pass the address alone, and headers beside it.");
  const path = pathname.replace(/\/+$/, "");
  const api = origin + (path === "" ? "/v1" : path);
  return { api, root: api.replace(/\/v1$/, ""), host };
}

function refused(what: string, remedy: string): WordloomError {
  return new WordloomError("option-invalid", `the endpoint ${what}`, { remedy });
}
