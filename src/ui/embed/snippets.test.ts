import { expect, test } from "vitest";
import { readQuery } from "../page/query";
import { snippetsFor } from "./snippets";

const SITE = "https://loom.example/app/";
const attributesOf = (markup: string): Record<string, string> =>
  Object.fromEntries(
    [...markup.matchAll(/\s([a-z-]+)="([^"]*)"/g)].map(([, name = "", value = ""]): [string, string] => [
      name,
      value.replaceAll("&quot;", '"').replaceAll("&amp;", "&"),
    ]),
  );

test("the script tag has the settings as attributes, and the model by its full address", () => {
  const { script, scriptPolicy } = snippetsFor({ prompt: "Once", temperature: 0.8, topK: undefined }, SITE);
  expect(script).toContain('<script type="module" src="word-loom.js"></script>');
  expect(attributesOf(script)).toMatchObject({
    model: "https://loom.example/app/models/wordloom-stories",
    prompt: "Once",
    temperature: "0.8",
  });
  expect(script).not.toContain("top-k");
  expect(scriptPolicy).toBe("script-src 'self'; worker-src blob:; connect-src https://loom.example");
});

test("the frame's address gives the same settings back", () => {
  const settings = { prompt: 'A "quote" & more', maxNewTokens: 9, stopStrings: ["\n", "END"], dtype: "q8" };
  const { frame, framePolicy } = snippetsFor({ ...settings, model: "hf:org/name" }, SITE);
  const address = new URL(attributesOf(frame)["src"] ?? "");
  const read = readQuery(address.search);
  expect(address.pathname).toBe("/app/embed.html");
  expect(read.prompt).toBe(settings.prompt);
  expect(read.run).toEqual({ maxNewTokens: 9, stop: ["\n", "END"] });
  expect(read.load).toMatchObject({ model: "hf:org/name", dtype: "q8" });
  expect(address.searchParams.get("origin")).toBe("https://example.com");
  expect(framePolicy).toBe("frame-src https://loom.example");
});

test("markup in a setting stays text", () => {
  const { script, frame } = snippetsFor({ prompt: '"><script>alert(1)</script>' }, SITE);
  expect(script.match(/<script/g)).toHaveLength(1);
  expect(script).toContain("&quot;&gt;&lt;script&gt;");
  expect(frame).not.toContain("<script");
});

test("files of this device have no address, and the hub is where its files are", () => {
  const { script, frame } = snippetsFor({ model: [new File([], "model.gguf")] }, SITE);
  expect(attributesOf(script)["model"]).toBe("models/…");
  expect(frame).not.toContain("model=");
  expect(snippetsFor({ model: "hf:org/name" }, SITE).scriptPolicy).toContain("https://huggingface.co https://*.hf.co");
});
