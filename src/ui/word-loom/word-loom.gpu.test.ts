/** The element in a real browser, on a generator that needs no model. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { LoadOptions } from "../../api/options";
import { WordloomError } from "../../errors";
import { FakeGenerator, FAKE_PROGRESS } from "../../testing/fake-generator";
import type { GenerationEnd, Generator } from "../generator";
import { WordLoom } from "./word-loom";

let made: FakeGenerator[] = [];
let loads: { source: string; options: LoadOptions }[] = [];
let failure: WordloomError | undefined;
let gate: Promise<void> = Promise.resolve();
let modelNumber = 0;

class TestLoom extends WordLoom {
  protected override async createGenerator(source: string, options: LoadOptions): Promise<Generator> {
    loads.push({ source, options });
    for (const progress of FAKE_PROGRESS) options.onProgress?.(progress);
    await gate;
    options.signal?.throwIfAborted();
    if (failure) throw failure;
    const generator = new FakeGenerator();
    made.push(generator);
    return generator;
  }
}
customElements.define("test-loom", TestLoom);

beforeEach(() => {
  made = [];
  loads = [];
  failure = undefined;
  gate = Promise.resolve();
  modelNumber += 1; // so that no test shares a model with the one before
});
afterEach(() => document.body.replaceChildren());

async function place(attributes: Record<string, string> = {}): Promise<TestLoom> {
  const loom = document.createElement("test-loom") as TestLoom; // defined above
  for (const [name, value] of Object.entries({ model: `m${modelNumber}`, ...attributes }))
    loom.setAttribute(name, value);
  document.body.append(loom);
  await loom.updateComplete;
  return loom;
}

/** The first one made, which is the one in use in most tests. */
function generator(): FakeGenerator {
  const [first] = made;
  if (!first) throw new Error("no generator has been made yet");
  return first;
}

const part = (loom: TestLoom, name: string) => loom.shadowRoot?.querySelector<HTMLElement>(`[part~="${name}"]`);
const button = (loom: TestLoom, label: string) =>
  [...(loom.shadowRoot?.querySelectorAll("button") ?? [])].find((element) => element.textContent?.trim() === label);
const states = (loom: TestLoom) => {
  const seen: (string | null)[] = [];
  new MutationObserver(() => seen.push(loom.getAttribute("state"))).observe(loom, { attributeFilter: ["state"] });
  return seen;
};
/** The next event of that kind, wherever it bubbles to. */
const next = (type: string) =>
  new Promise<CustomEvent<Partial<GenerationEnd>>>((resolve) =>
    document.addEventListener(type, (event) => resolve(event as CustomEvent<Partial<GenerationEnd>>), { once: true }),
  );

describe("a run", () => {
  test("loads, writes, and tells each step by state and event", async () => {
    const loom = await place({ prompt: "Once" });
    expect(loom.getAttribute("state")).toBe("idle");
    const seen = states(loom);
    const events: string[] = [];
    for (const type of ["model-progress", "model-ready", "generated-token", "generation-end"])
      document.addEventListener(type, () => events.push(type), { once: true });
    const token = next("generated-token");
    const end = await loom.generate();
    await Promise.resolve();
    expect(seen).toEqual(["loading", "ready", "generating", "ready"]);
    expect(events).toEqual(["model-progress", "model-ready", "generated-token", "generation-end"]);
    expect((await token).detail).toMatchObject({ text: " and", tokens: [{ id: 0 }] });
    expect(end).toMatchObject({ finishReason: "stop", usage: { completionTokens: 4 } });
    expect(loom.text).toBe(" and so on.");
    expect(part(loom, "output")?.textContent).toBe(" and so on.");
    expect(part(loom, "prompt")?.textContent).toBe("Once");
  });

  test("is given the attributes as options, and nothing that was not set", async () => {
    const loom = await place({
      "max-new-tokens": "9",
      temperature: "0.5",
      "top-k": "3",
      seed: "4",
      "stop-strings": "END",
    });
    await loom.generate("Hi");
    const { signal, ...options } = made[0]?.calls[0]?.options ?? {};
    expect(options).toEqual({ maxNewTokens: 9, temperature: 0.5, topK: 3, seed: 4, stop: ["END"] });
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(loads[0]).toMatchObject({ source: `m${modelNumber}` });
    expect(loads[0]?.options).not.toHaveProperty("dtype");
  });

  test("that is stopped keeps its text, ends with abort, and writes nothing more", async () => {
    const loom = await place();
    await loom.load();
    generator().answer = { pieces: Array.from({ length: 1000 }, () => " la"), pieceMs: 5 };
    const ended = next("generation-end");
    void loom.generate("Sing:");
    await next("generated-token");
    loom.stop();
    expect(loom.state).toBe("ready");
    const text = loom.text;
    expect((await ended).detail.finishReason).toBe("abort");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(loom.text).toBe(text);
    expect(text).not.toBe("");
  });

  test("begun while another goes on takes its place", async () => {
    const loom = await place();
    await loom.load();
    generator().answer = { pieces: Array.from({ length: 1000 }, () => " la"), pieceMs: 5 };
    const first = loom.generate("One");
    await next("generated-token");
    generator().answer = { pieces: [" two"] };
    const second = loom.generate("Two");
    expect((await first)?.finishReason).toBe("abort");
    expect((await second)?.finishReason).toBe("stop");
    expect(loom.text).toBe(" two");
    expect(loom.state).toBe("ready");
  });

  test("can be continued where it stopped, from prompt and text together", async () => {
    const loom = await place({ prompt: "Once" });
    await loom.load();
    generator().answer = { pieces: [" upon"], finishReason: "length" };
    await loom.generate();
    generator().answer = { pieces: [" a", " time"] };
    await loom.updateComplete;
    button(loom, "Write on")?.click();
    await next("generation-end");
    expect(made[0]?.calls[1]?.input).toBe("Once upon");
    expect(loom.text).toBe(" upon a time");
    expect(part(loom, "output")?.textContent).toBe(" upon a time");
  });

  test("waits for the model that is being loaded, and Stop ends the waiting", async () => {
    let open: () => void = () => {};
    gate = new Promise((resolve) => (open = resolve));
    const loom = await place({ autoload: "" });
    expect(loom.state).toBe("loading");
    const run = loom.generate("Once");
    await loom.updateComplete;
    button(loom, "Stop")?.click();
    open();
    expect(await run).toBeUndefined();
    expect(loom.state).toBe("idle");
    expect(made).toHaveLength(0);
  });
});

describe("the text", () => {
  test("is never read as HTML", async () => {
    const loom = await place();
    await loom.load();
    const piece = '<img src=x onerror="globalThis.hacked = true"><b>bold</b>';
    generator().answer = { pieces: [piece] };
    await loom.generate("<i>hm</i>");
    expect(part(loom, "output")?.querySelector("img, b")).toBeNull();
    expect(part(loom, "output")?.textContent).toBe(piece);
    expect(part(loom, "prompt")?.textContent).toBe("<i>hm</i>");
    expect("hacked" in globalThis).toBe(false);
  });

  test("keeps every line break in the output", async () => {
    const loom = await place();
    await loom.load();
    generator().answer = { pieces: [" a\n", "\nb", "\nשלום"] };
    await loom.generate("x");
    expect(part(loom, "output")?.textContent).toBe(" a\n\nb\nשלום");
    const last = part(loom, "output")?.lastElementChild;
    expect(last && getComputedStyle(last).direction).toBe("rtl");
  });

  test("is appended to the nodes that are there, so that a token costs the same however long the text is", async () => {
    const loom = await place();
    await loom.load();
    generator().answer = { pieces: Array.from({ length: 200 }, () => " la"), pieceMs: 1 };
    const run = loom.generate("x");
    // Text is shown some ten times a second, so the first of it takes a moment.
    const node = await vi.waitFor(() => {
      const first = part(loom, "output")?.firstChild;
      expect(first).toBeInstanceOf(Text);
      return first;
    });
    expect(loom.state).toBe("generating");
    await run;
    expect(part(loom, "output")?.childNodes).toHaveLength(1);
    expect(part(loom, "output")?.firstChild).toBe(node);
  });

  test("is announced politely and in whole sentences", async () => {
    const loom = await place();
    const region = loom.shadowRoot?.querySelector("[aria-live]");
    expect(region?.getAttribute("aria-live")).toBe("polite");
    await loom.load();
    generator().answer = { pieces: "One is here. Two is there. And thr".match(/\s*\S+/g) ?? [], pieceMs: 400 };
    const run = loom.generate("x");
    await vi.waitFor(() => expect(region?.textContent).not.toBe(""), { timeout: 5000 });
    expect(region?.textContent).toMatch(/^One is here\.( Two is there\.)?$/);
    await run;
    expect(region?.textContent).toMatch(/And thr End of the text\.$/);
  });
});

describe("a failure", () => {
  test("of loading is a state, an event, and a sentence with the next step", async () => {
    failure = new WordloomError("network-failed", "model.safetensors: connection reset after 3 MiB");
    const loom = await place();
    const event = next("generation-error");
    await loom.load();
    expect(loom.state).toBe("failed");
    expect((await event).detail).toEqual({ code: "network-failed", message: failure.message, remedy: failure.remedy });
    await loom.updateComplete;
    expect(part(loom, "failure")?.getAttribute("role")).toBe("alert");
    expect(part(loom, "failure")?.textContent).toContain("connection reset after 3 MiB");
    failure = undefined;
    button(loom, "Load again")?.click();
    await next("model-ready");
    expect(loom.state).toBe("ready");
  });

  test("without WebGPU offers the slow way for the bundled model, and for no other", async () => {
    failure = new WordloomError("webgpu-unavailable", "there is no navigator.gpu");
    const other = await place();
    await other.load();
    await other.updateComplete;
    expect(button(other, "Write slowly without the GPU")).toBeUndefined();
    const loom = await place({ model: "models/wordloom-stories" });
    await loom.load();
    await loom.updateComplete;
    failure = undefined;
    button(loom, "Write slowly without the GPU")?.click();
    await next("model-ready");
    expect(loads.at(-1)?.options.allowReference).toBe(true);
  });

  test("of a run keeps the text and the model", async () => {
    const loom = await place();
    await loom.load();
    const error = new WordloomError("prompt-too-long", "600 tokens; the context holds 512");
    generator().answer = { failure: { atPiece: 2, error } };
    await loom.generate("x");
    expect(loom.state).toBe("failed");
    expect(loom.text).toBe(" and so");
    generator().answer = {};
    await loom.generate();
    expect(loom.state).toBe("ready");
    expect(made).toHaveLength(1);
  });

  test("that costs the device has the model loaded again", async () => {
    const loom = await place();
    await loom.load();
    generator().answer = { failure: { atPiece: 1, error: new WordloomError("device-lost", "lost") } };
    await loom.generate("x");
    expect(made[0]?.disposed).toBe(1);
    await loom.generate("x");
    expect(loom.state).toBe("ready");
    expect(made).toHaveLength(2);
  });
});

describe("the model", () => {
  test("is shared by elements that ask for the same, and goes with the last of them", async () => {
    const [one, two] = [await place(), await place()];
    await Promise.all([one.load(), two.load()]);
    expect(made).toHaveLength(1);
    one.remove();
    await Promise.resolve();
    expect(made[0]?.disposed).toBe(0);
    two.remove();
    await vi.waitFor(() => expect(made[0]?.disposed).toBe(1));
  });

  test("goes with the element, and a run with it, also when it is removed twice", async () => {
    const loom = await place();
    await loom.load();
    generator().answer = { pieces: Array.from({ length: 1000 }, () => " la"), pieceMs: 5 };
    void loom.generate("x");
    await next("generated-token");
    loom.remove();
    await vi.waitFor(() => expect(made[0]?.disposed).toBe(1));
    expect(made[0]?.calls[0]?.options.signal?.aborted).toBe(true);
    loom.remove();
    expect(loom.state).toBe("idle");
    expect(await loom.generate("y")).toBeUndefined();
  });

  test("stays with an element that is moved", async () => {
    const loom = await place();
    await loom.load();
    const section = document.createElement("section");
    document.body.append(section);
    section.append(loom);
    await Promise.resolve();
    expect(loom.state).toBe("ready");
    expect(made[0]?.disposed).toBe(0);
  });

  test("is loaded anew when a load option changes", async () => {
    const loom = await place({ autoload: "" });
    await vi.waitFor(() => expect(loom.state).toBe("ready"));
    loom.dtype = "q8";
    await vi.waitFor(() => expect(made).toHaveLength(2));
    expect(loads[1]?.options.dtype).toBe("q8");
    await vi.waitFor(() => expect(made[0]?.disposed).toBe(1));
  });

  test("that is stopped while loading leaves the element idle", async () => {
    gate = new Promise(() => {});
    const loom = await place();
    const loading = loom.load();
    loom.stop();
    await loading;
    expect(loom.state).toBe("idle");
    expect(loads[0]?.options.signal?.aborted).toBe(true);
  });
});

describe("the keyboard", () => {
  test("Enter writes, Shift+Enter does not", async () => {
    const loom = await place();
    const prompt = part(loom, "prompt");
    prompt?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey: true, bubbles: true }));
    expect(loom.state).toBe("idle");
    prompt?.append("Typed");
    prompt?.dispatchEvent(new InputEvent("input", { bubbles: true }));
    expect(loom.prompt).toBe("Typed");
    prompt?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    await next("generation-end");
    expect(made[0]?.calls[0]?.input).toBe("Typed");
  });

  test("reset clears the text and keeps prompt and model", async () => {
    const loom = await place({ prompt: "Once" });
    await loom.generate();
    loom.reset();
    await loom.updateComplete;
    expect(loom.text).toBe("");
    expect(part(loom, "output")?.textContent).toBe("");
    expect(loom.prompt).toBe("Once");
    expect(loom.state).toBe("ready");
  });
});
