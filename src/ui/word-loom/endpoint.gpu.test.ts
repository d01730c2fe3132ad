/** The element with a server in place of the device: the reader sees where the text is made before anything is sent. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FallbackOptions } from "../../api/connect-options";
import { TextGenerator } from "../../api/text-generator";
import type { Generator } from "../generator";
import type { ModelSource } from "./options";
import { WordLoom } from "./word-loom";

class RemoteLoom extends WordLoom {
  /** A device that cannot run any model. */
  protected override async createGenerator(
    _: ModelSource,
    options: { fallback?: FallbackOptions },
  ): Promise<Generator> {
    if (!options.fallback) throw new Error("no fallback was passed");
    const { endpoint, ...rest } = options.fallback;
    return TextGenerator.connect(endpoint, rest);
  }
}
customElements.define("remote-loom", RemoteLoom);

const asked: { url: string; headers: Headers; body: Record<string, unknown> }[] = [];
beforeEach(() => {
  asked.length = 0;
  vi.spyOn(globalThis, "fetch").mockImplementation((url, init) => {
    const body = typeof init?.body === "string" ? (JSON.parse(init.body) as Record<string, unknown>) : {};
    const address = url instanceof Request ? url.url : url.toString();
    asked.push({ url: address, headers: new Headers(init?.headers), body });
    const isList = address.endsWith("/models");
    const piece = { choices: [{ text: " upon", finish_reason: "stop" }] };
    const text = isList
      ? JSON.stringify({ data: [{ id: "poet", owned_by: "acme" }] })
      : `data: ${JSON.stringify(piece)}\n\ndata: [DONE]\n\n`;
    return Promise.resolve(
      new Response(text, { headers: { "Content-Type": isList ? "application/json" : "text/event-stream" } }),
    );
  });
});
afterEach(() => {
  document.body.replaceChildren();
  vi.restoreAllMocks();
});

async function place(attributes: Record<string, string>): Promise<RemoteLoom> {
  const loom = document.createElement("remote-loom") as RemoteLoom; // defined above
  for (const [name, value] of Object.entries(attributes)) loom.setAttribute(name, value);
  document.body.append(loom);
  await loom.updateComplete;
  return loom;
}

const textOf = (loom: RemoteLoom, part: string) =>
  loom.shadowRoot?.querySelector(`[part~="${part}"]`)?.textContent ?? "";
const write = (loom: RemoteLoom) => loom.shadowRoot?.querySelector<HTMLButtonElement>("button.primary");

test("endpoint: status and button name the server before the first request, and the prompt goes there on a click", async () => {
  const loom = await place({ endpoint: "https://writer.example/v1", model: "poet", prompt: "Once" });
  loom.apiKey = "sk-secret-1";
  await loom.updateComplete;
  expect(asked).toEqual([]);
  expect(textOf(loom, "status")).toContain("Written on writer.example");
  expect(write(loom)?.textContent?.trim()).toBe("Write on writer.example");
  expect(loom.outerHTML).not.toContain("sk-secret-1");

  write(loom)?.click();
  await vi.waitFor(() => expect(loom.text).toBe(" upon"));
  await vi.waitFor(() => expect(loom.state).toBe("ready"));
  expect(asked.map(({ url }) => url)).toEqual([
    "https://writer.example/v1/models",
    "https://writer.example/v1/completions",
  ]);
  expect(asked[1]?.body).toMatchObject({ model: "poet", prompt: "Once" });
  expect(asked[1]?.headers.get("Authorization")).toBe("Bearer sk-secret-1");
  expect(loom.info).toMatchObject({ backend: "remote", endpoint: "https://writer.example/v1" });
  await loom.updateComplete;
  expect(textOf(loom, "status")).toContain("Written on writer.example · poet");
});

test("fallback: the reader is told before the prompt is sent, and a second click sends it", async () => {
  const loom = await place({ "fallback-endpoint": "https://writer.example", model: "hf:a/b", prompt: "Once" });
  expect(write(loom)?.textContent?.trim()).toBe("Write"); // on this device, as far as is known
  expect(await loom.generate()).toBeUndefined();
  await loom.updateComplete;
  expect(loom.state).toBe("ready");
  expect(asked.map(({ url }) => url)).toEqual(["https://writer.example/v1/models"]);
  expect(textOf(loom, "notice")).toContain("This device cannot run the model, but writer.example can");
  expect(write(loom)?.textContent?.trim()).toBe("Write on writer.example");

  write(loom)?.click();
  await vi.waitFor(() => expect(loom.text).toBe(" upon"));
  expect(asked[1]?.body).toMatchObject({ model: "poet", prompt: "Once" });
});

test("settings of the device beside endpoint are refused by name, and nothing is asked", async () => {
  const loom = await place({ endpoint: "https://writer.example", dtype: "q4" });
  await loom.load();
  await loom.updateComplete;
  expect(loom.state).toBe("failed");
  expect(textOf(loom, "failure")).toContain("means nothing beside endpoint");
  expect(asked).toEqual([]);
});
