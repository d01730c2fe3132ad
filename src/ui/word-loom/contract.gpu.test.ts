/** What other pages rely on: each attribute, property, method, event and part of `<word-loom>`, and what removing it frees. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { LoadOptions } from "../../api/options";
import { TextGenerator } from "../../api/text-generator";
import { WordloomError } from "../../errors";
import { FakeGenerator, FAKE_INFO, FAKE_PROGRESS } from "../../testing/fake-generator";
import { countGpuCalls } from "../../testing/gpu-counts";
import { filesOf, scriptedCheckpoint } from "../../testing/scripted-checkpoint";
import type { Generator } from "../generator";
import { WordLoom } from "./word-loom";

const PIECES = ["<|end|>", "<|go|>", ..."abcdefghij"];

class FakeLoom extends WordLoom {
  readonly generator = new FakeGenerator();
  failure: WordloomError | undefined;
  loaded: { source: string; options: LoadOptions } | undefined;

  protected override async createGenerator(source: string, options: LoadOptions): Promise<Generator> {
    this.loaded = { source, options };
    await Promise.resolve(); // as the real one: never before the caller has its promise
    for (const progress of FAKE_PROGRESS) options.onProgress?.(progress);
    if (this.failure) throw this.failure;
    return this.generator;
  }
}
customElements.define("fake-loom", FakeLoom);

/** After each letter the next, and after the last the first: a text without an end. */
const round = (last: number, next: number) => (next === (last >= PIECES.length - 1 ? 2 : last + 1) ? 8 : -4);

/** A real, tiny model on the GPU of this page, so that its buffers can be counted. */
class GpuLoom extends WordLoom {
  static loads = 0;

  protected override createGenerator(_: string, options: LoadOptions): Promise<Generator> {
    GpuLoom.loads += 1;
    const model = filesOf(scriptedCheckpoint({ pieces: PIECES, size: 32, table: round }));
    return TextGenerator.load(model, { ...options, worker: false, backend: "webgpu" });
  }
}
customElements.define("gpu-loom", GpuLoom);

let modelNumber = 0;
afterEach(() => document.body.replaceChildren());

/** Each on a model of its own, unless one is named. */
async function place<T extends WordLoom>(tag: string, attributes: Record<string, string> = {}): Promise<T> {
  const loom = document.createElement(tag) as T; // defined above
  for (const [name, value] of Object.entries({ model: `contract-${modelNumber++}`, ...attributes }))
    loom.setAttribute(name, value);
  document.body.append(loom);
  await loom.updateComplete;
  return loom;
}

const fake = (attributes?: Record<string, string>) => place<FakeLoom>("fake-loom", attributes);
const part = (loom: WordLoom, name: string) => loom.shadowRoot?.querySelector<HTMLElement>(`[part~="${name}"]`);

describe("attributes and properties", () => {
  test.each([
    ["max-new-tokens", "9", "maxNewTokens", 9, "maxNewTokens"],
    ["temperature", "0.5", "temperature", 0.5, "temperature"],
    ["top-k", "3", "topK", 3, "topK"],
    ["top-p", "0.9", "topP", 0.9, "topP"],
    ["min-p", "0.1", "minP", 0.1, "minP"],
    ["repetition-penalty", "1.2", "repetitionPenalty", 1.2, "repetitionPenalty"],
    ["seed", "4", "seed", 4, "seed"],
    ["stop-strings", '["END"]', "stopStrings", ["END"], "stop"],
  ] as const)("%s=%s is the property %s, and an option of the run", async (name, text, property, value, option) => {
    const loom = await fake({ [name]: text });
    expect(loom[property]).toEqual(value);
    await loom.generate("x");
    expect(loom.generator.calls[0]?.options).toMatchObject({ [option]: value });
    const other = await fake();
    Object.assign(other, { [property]: value });
    await other.generate("x");
    expect(other.generator.calls[0]?.options).toMatchObject({ [option]: value });
  });

  test.each([
    ["dtype", "q8", "dtype", "q8"],
    ["context-length", "64", "contextLength", 64],
    ["backend", "webgpu", "backend", "webgpu"],
    ["allow-reference", "", "allowReference", true],
  ] as const)("%s=%s is the property %s, and an option of loading", async (name, text, property, value) => {
    const loom = await fake({ [name]: text });
    expect(loom[property]).toBe(value);
    await loom.load();
    expect(loom.loaded?.options).toMatchObject({ [property]: value });
  });

  test("model is the source, and the bundled model without it", async () => {
    const loom = await fake({ model: "models/mine" });
    await loom.load();
    expect(loom.loaded?.source).toBe("models/mine");
    const plain = await fake();
    plain.removeAttribute("model");
    await plain.load();
    expect(plain.loaded?.source).toBe("models/wordloom-stories");
  });

  test("prompt is what stands in the page, and what is continued", async () => {
    const loom = await fake({ prompt: "Once" });
    expect(part(loom, "prompt")?.textContent).toBe("Once");
    await loom.generate();
    expect(loom.generator.calls[0]?.input).toBe("Once");
  });

  test("autoload loads as soon as it is connected", async () => {
    const loom = await fake({ autoload: "" });
    await vi.waitFor(() => expect(loom.state).toBe("ready"));
  });

  test("state is reflected, and cannot be set", async () => {
    const loom = await fake();
    expect(loom.getAttribute("state")).toBe("idle");
    expect(() => Object.assign(loom, { state: "ready" })).toThrow(TypeError);
    await loom.load();
    expect([loom.state, loom.getAttribute("state")]).toEqual(["ready", "ready"]);
  });

  test("text is what has been written, without the prompt, and cannot be set", async () => {
    const loom = await fake({ prompt: "Once" });
    await loom.generate();
    expect(loom.text).toBe(" and so on.");
    expect(() => Object.assign(loom, { text: "x" })).toThrow(TypeError);
  });
});

describe("methods", () => {
  test("load, generate with a prompt, stop and reset", async () => {
    const loom = await fake();
    await loom.load();
    expect(loom.state).toBe("ready");
    loom.generator.answer = { pieces: Array.from({ length: 1000 }, () => " la"), pieceMs: 5 };
    const run = loom.generate("Sing");
    await vi.waitFor(() => expect(loom.text).not.toBe(""));
    expect([loom.prompt, loom.state]).toEqual(["Sing", "generating"]);
    loom.stop();
    expect((await run)?.finishReason).toBe("abort");
    loom.reset();
    expect([loom.text, loom.prompt, loom.state]).toEqual(["", "Sing", "ready"]);
  });
});

describe("events", () => {
  const seen = (type: string) => {
    const events: CustomEvent[] = [];
    document.addEventListener(type, (event) => events.push(event as CustomEvent));
    return events;
  };

  test("each bubbles out of a shadow root with its detail", async () => {
    const types = ["model-progress", "model-ready", "generated-token", "generation-end", "generation-error"];
    const events = Object.fromEntries(types.map((type) => [type, seen(type)]));
    const host = document.createElement("div");
    document.body.append(host);
    const loom = await fake({ prompt: "x" });
    host.attachShadow({ mode: "open" }).append(loom);
    const end = await loom.generate();
    expect(events["model-progress"]?.map(({ detail }) => detail as unknown)).toEqual(FAKE_PROGRESS);
    expect(events["model-ready"]?.map(({ detail }) => detail as unknown)).toEqual([FAKE_INFO]);
    expect(events["generated-token"]?.[0]?.detail).toMatchObject({ text: " and", tokens: [{ id: 0, text: " and" }] });
    expect(events["generation-end"]?.map(({ detail }) => detail as unknown)).toEqual([end]);
    expect(events["generation-error"]).toEqual([]);

    const error = new WordloomError("prompt-too-long", "600 tokens; the context holds 512");
    loom.generator.answer = { failure: { atPiece: 0, error } };
    await loom.generate();
    expect(events["generation-error"]?.map(({ detail }) => detail as unknown)).toEqual([
      { code: "prompt-too-long", message: "600 tokens; the context holds 512", remedy: error.remedy },
    ]);
    for (const event of Object.values(events).flat()) expect([event.bubbles, event.composed]).toEqual([true, true]);
  });
});

describe("parts", () => {
  test("output, prompt, controls and status are always there, progress while loading", async () => {
    const loom = await fake();
    const names = () => ["output", "prompt", "controls", "status", "progress"].filter((name) => part(loom, name));
    expect(names()).toEqual(["output", "prompt", "controls", "status"]);
    loom.failure = new WordloomError("network-failed", "no answer");
    const loading = loom.load();
    await loom.updateComplete;
    expect(names()).toEqual(["output", "prompt", "controls", "progress"]);
    await loading;
    await loom.updateComplete;
    expect(names()).toEqual(["output", "prompt", "controls", "status"]);
    expect(part(loom, "failure")).not.toBeNull();
  });
});

describe("on the GPU", () => {
  test("two elements share one engine, and all its buffers are freed when the second is removed while it writes", async () => {
    const { counts, stop } = countGpuCalls();
    try {
      const model = `gpu-${modelNumber++}`;
      const [one, two] = [await place<GpuLoom>("gpu-loom", { model }), await place<GpuLoom>("gpu-loom", { model })];
      await Promise.all([one.load(), two.load()]);
      expect(GpuLoom.loads).toBe(1);
      const { createBuffer } = counts;
      expect(createBuffer).toBeGreaterThan(5);
      one.maxNewTokens = 12;
      await one.generate("a");
      expect(one.text).toBe("bcdefghijabc");

      one.remove();
      await Promise.resolve();
      two.maxNewTokens = 400;
      const run = two.generate("b");
      await vi.waitFor(() => expect(two.state).toBe("generating"));
      two.remove();
      expect((await run)?.finishReason).not.toBe("length");
      await vi.waitFor(() => expect(counts.destroyBuffer).toBe(counts.createBuffer), { timeout: 10_000 });
      expect(two.state).toBe("idle");
    } finally {
      stop();
    }
  });
});
