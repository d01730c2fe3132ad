/** What an inspector and a page use of the element: tokens, their places, branches, other texts. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { LoadOptions } from "../../api/options";
import { TextGenerator } from "../../api/text-generator";
import { FakeGenerator } from "../../testing/fake-generator";
import { filesOf, scriptedCheckpoint } from "../../testing/scripted-checkpoint";
import type { Generator } from "../generator";
import { TextFlow } from "./text-flow";
import { WordLoom } from "./word-loom";
import type { SavedToken } from "./written-token";

class InspectedLoom extends WordLoom {
  readonly generator = new FakeGenerator();

  protected override async createGenerator(): Promise<Generator> {
    return this.generator;
  }
}
customElements.define("inspected-loom", InspectedLoom);

const PIECES = ["<|end|>", "<|go|>", ..."abcdefghij"];
/** After each letter the next, and after the last the first. */
const round = (last: number, next: number) => (next === (last >= PIECES.length - 1 ? 2 : last + 1) ? 8 : -4);

class ScriptedLoom extends WordLoom {
  protected override createGenerator(_: string, options: LoadOptions): Promise<Generator> {
    const model = filesOf(scriptedCheckpoint({ pieces: PIECES, size: 32, table: round }));
    return TextGenerator.load(model, { ...options, worker: false, backend: "webgpu" });
  }
}
customElements.define("scripted-loom", ScriptedLoom);

let modelNumber = 0;
afterEach(() => document.body.replaceChildren());

async function place<T extends WordLoom>(tag: string): Promise<T> {
  const loom = document.createElement(tag) as T; // defined above
  loom.setAttribute("model", `inspected-${modelNumber++}`);
  loom.setAttribute("prompt", "Once");
  document.body.append(loom);
  await loom.updateComplete;
  return loom;
}

const shown = (loom: WordLoom) => loom.shadowRoot?.querySelector("#output")?.textContent;

describe("tokens", () => {
  test("stand in the text, can be found in the page, and are found again by a point on them", async () => {
    const loom = await place<InspectedLoom>("inspected-loom");
    loom.generator.answer = { pieces: [" a", "b\n", "\n", "cd", "\ne", " f".repeat(200)] };
    await loom.generate();
    expect(loom.tokens.map(({ text }) => text)).toEqual([" a", "b\n", "\n", "cd", "\ne", " f".repeat(200)]);
    for (const [index, { start, end, text }] of loom.tokens.entries()) {
      const range = loom.rangeOf(start, end);
      expect(range.toString()).toBe(text);
      if (text.trim() === "") continue;
      const box = [...range.getClientRects()].find(({ width }) => width > 2);
      if (!box) throw new Error(`token ${index} is not seen`);
      expect(loom.tokenAt(box.left + 1, box.top + box.height / 2)).toBe(index);
    }
    expect(loom.tokenAt(-5, 10)).toBeUndefined();
  });

  test("are asked for with alternatives and statistics while inspect is set", async () => {
    const loom = await place<InspectedLoom>("inspected-loom");
    await loom.generate();
    expect(loom.generator.calls[0]?.options).not.toHaveProperty("topLogprobs");
    loom.inspect = true;
    await loom.generate();
    expect(loom.generator.calls[1]?.options).toMatchObject({ topLogprobs: 10, tokenStatistics: true });
  });

  test("are seen through a style sheet that the element takes in, and gives back", async () => {
    const loom = await place<InspectedLoom>("inspected-loom");
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("#output { color: rgb(1, 2, 3); }");
    const color = () => getComputedStyle(loom.shadowRoot?.querySelector("#output") as Element).color;
    const giveBack = loom.adoptStyles(sheet);
    expect(color()).toBe("rgb(1, 2, 3)");
    giveBack();
    expect(color()).not.toBe("rgb(1, 2, 3)");
  });
});

describe("a branch", () => {
  test("keeps what stands before it, puts the other token there and writes on; the list of tokens before stays", async () => {
    const loom = await place<InspectedLoom>("inspected-loom");
    await loom.generate();
    const [before, text] = [loom.tokens, loom.text];
    expect(text).toBe(" and so on.");
    const branched = vi.fn();
    document.addEventListener("branched", branched, { once: true });
    loom.generator.answer = { pieces: [" but", " no."] };
    await loom.branch(1, 77);
    expect(loom.text).toBe(" and but no.");
    expect(shown(loom)).toBe(" and but no.");
    expect(loom.generator.calls[1]?.input).toEqual([0, 0]); // the prompt's token, and the one that stays
    expect(loom.generator.calls[1]?.options.forcedTokens).toEqual([77]);
    expect((branched.mock.calls[0]?.[0] as CustomEvent).detail).toEqual({ index: 1, by: 77 });
    expect([before.length, before[3]?.text]).toEqual([4, "."]);
    expect(loom.tokens.map(({ start }) => start)).toEqual([0, 4, 8]);
  });

  test("by a text goes on from it", async () => {
    const loom = await place<InspectedLoom>("inspected-loom");
    await loom.generate();
    loom.generator.answer = { pieces: [" away."] };
    await loom.branch(2, " far");
    expect(loom.generator.calls[1]?.input).toBe("Once and so far");
    expect(loom.text).toBe(" and so far away.");
    expect(loom.tokens.map((one) => one.text)).toEqual([" and", " so", " away."]);
  });

  test("where there is no token is a failure that names it, and leaves the text", async () => {
    const loom = await place<InspectedLoom>("inspected-loom");
    await loom.generate();
    const failed = vi.fn();
    document.addEventListener("generation-error", failed, { once: true });
    expect(await loom.branch(9, 1)).toBeUndefined();
    expect((failed.mock.calls[0]?.[0] as CustomEvent).detail).toMatchObject({ code: "option-invalid" });
    expect(loom.text).toBe(" and so on.");
  });

  test("on the GPU reuses the cache of everything before it", async () => {
    const loom = await place<ScriptedLoom>("scripted-loom");
    loom.prompt = "abc";
    loom.maxNewTokens = 20;
    loom.inspect = true;
    await loom.generate();
    expect(loom.text).toBe("defghijabcdefghijabc");
    const c = PIECES.indexOf("c");
    expect(loom.tokens[10]).toMatchObject({ text: "d", rank: 1 });
    expect(loom.tokens[10]?.top).toHaveLength(10);
    const end = await loom.branch(10, c);
    expect(loom.text).toBe("defghijabccdefghijabcdefghijab");
    expect(end?.usage.promptTokens).toBe(13);
    expect(end?.usage.cachedTokens).toBeGreaterThanOrEqual(12); // the last one is always computed
    expect(loom.tokens[10]?.rank).toBeGreaterThan(1);
  });
});

describe("another text", () => {
  test("is written by regenerate from the same prompt, with another seed where one is set", async () => {
    const loom = await place<InspectedLoom>("inspected-loom");
    loom.seed = 5;
    await loom.generate();
    loom.prompt = "Twice";
    loom.generator.answer = { pieces: [" upon"] };
    await loom.regenerate();
    expect([loom.prompt, loom.text]).toEqual(["Once", " upon"]);
    expect(loom.generator.calls.map(({ options }) => options.seed === 5)).toEqual([true, false]);
    loom.seed = undefined;
    await loom.regenerate();
    expect(loom.generator.calls[2]?.options).not.toHaveProperty("seed");
  });

  test("can be put in its place with its tokens, and continued", async () => {
    const loom = await place<InspectedLoom>("inspected-loom");
    await loom.generate();
    const [text, tokens] = [loom.text, JSON.parse(JSON.stringify(loom.tokens)) as SavedToken[]];
    loom.replaceText("");
    expect([loom.text, shown(loom), loom.tokens.length]).toEqual(["", "", 0]);
    loom.replaceText(text, tokens);
    expect([loom.text, shown(loom), loom.tokens.length]).toEqual([text, text, 4]);
    loom.generator.answer = { pieces: [" And"] };
    await loom.continue();
    expect(loom.generator.calls[1]?.input).toBe("Once and so on.");
    expect(loom.tokens[4]).toMatchObject({ start: 11, text: " And" });
  });
});

describe("a flow", () => {
  const flow = () => {
    const container = document.createElement("span");
    document.body.append(container);
    return { container, flow: new TextFlow(container) };
  };

  test("holds exactly the text, in few nodes however many lines there are", () => {
    const { container, flow: long } = flow();
    const text = Array.from({ length: 10_000 }, (_, line) => `${line}\n`).join("");
    for (let at = 0; at < text.length; at += 7) long.append(text.slice(at, at + 7));
    expect(container.textContent).toBe(text);
    expect(container.childNodes.length).toBeLessThan(500);
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 8, 9])("cut after %i units goes on as one that was never longer", (length) => {
    const text = "ab\n\nc\nd\n\n";
    const [cut, never] = [flow(), flow()];
    cut.flow.append(text);
    cut.flow.truncate(length);
    never.flow.append(text.slice(0, length));
    for (const one of [cut, never]) one.flow.append("x\ny");
    expect(cut.container.innerHTML).toBe(never.container.innerHTML);
    expect(cut.flow.rangeOf(length, length + 1).toString()).toBe("x");
  });

  test("breaks a paragraph of a hundred thousand characters at blanks, so that none is laid out whole", () => {
    const { container, flow: long } = flow();
    const text = `${"some words ".repeat(10_000)}\nend`;
    for (let at = 0; at < text.length; at += 70) long.append(text.slice(at, at + 70));
    expect(container.textContent).toBe(text);
    const lengths = [...container.childNodes].map(({ textContent }) => textContent?.length ?? 0);
    expect(Math.max(...lengths)).toBeLessThan(5020);
    expect(lengths.length).toBeLessThan(25);
    long.truncate(lengths[0] ?? 0);
    long.append("next");
    expect(container.lastChild?.textContent).toBe("next");
    expect(long.rangeOf(0, 1e6).toString()).toBe(`${text.slice(0, lengths[0])}next`);
  });

  test("gives what it has of a range", () => {
    const { container, flow: short } = flow();
    expect(short.rangeOf(0, 5).toString()).toBe("");
    short.append("ab\ncd\n");
    expect(short.rangeOf(1, 99).toString()).toBe("b\ncd\n");
    expect(short.rangeOf(0, 3).endContainer).toBe(container.firstChild);
    expect(short.rangeOf(3, 4).startContainer).toBe(container.lastChild?.firstChild);
  });
});
