/** The element among others: in a form, beside elements with the same model, out of sight, and read out. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { FakeGenerator } from "../../testing/fake-generator";
import type { Generator } from "../generator";
import { WordLoom } from "./word-loom";

const generators = new Map<unknown, FakeGenerator>();

class FieldLoom extends WordLoom {
  loads = 0;

  protected override async createGenerator(): Promise<Generator> {
    this.loads += 1;
    const generator = generators.get(this.model) ?? new FakeGenerator();
    generators.set(this.model, generator);
    return generator;
  }
}
customElements.define("field-loom", FieldLoom);

let modelNumber = 0;
afterEach(() => document.body.replaceChildren());

async function place(markup: string): Promise<FieldLoom[]> {
  const model = `field-${modelNumber++}`;
  document.body.innerHTML = markup.replaceAll("<field-loom", `<field-loom model="${model}" prompt="Once"`);
  generators.set(model, new FakeGenerator());
  const looms = [...document.querySelectorAll<FieldLoom>("field-loom")];
  await Promise.all(looms.map((loom) => loom.updateComplete));
  return looms;
}

async function placeOne(markup: string): Promise<FieldLoom> {
  const [loom] = await place(markup);
  if (!loom) throw new Error("there is none");
  return loom;
}

const generatorOf = (loom: FieldLoom) => generators.get(loom.model) as FakeGenerator; // `place` made it
const formOf = () => document.querySelector("form") as HTMLFormElement; // in each of these tests
const fields = () => Object.fromEntries(new FormData(formOf()));
const slowly = { pieces: Array.from({ length: 500 }, () => " la"), pieceMs: 5 };
const buttonsOf = (loom: FieldLoom) => [...(loom.shadowRoot?.querySelectorAll("[part=controls] button") ?? [])];

describe("in a form", () => {
  test("its text is submitted under its name, and its prompt where that has one", async () => {
    const loom = await placeOne(`<form><field-loom name="story" prompt-name="beginning"></field-loom></form>`);
    expect(fields()).toEqual({ story: "", beginning: "Once" });
    await loom.generate();
    expect(fields()).toEqual({ story: " and so on.", beginning: "Once" });
    expect(loom.form).toBe(formOf());
    expect(loom.value).toBe(loom.text);
    loom.name = undefined;
    await loom.updateComplete;
    expect(fields()).toEqual({ beginning: "Once" });
  });

  test("it is not valid while a text is being written, nor, where it is required, without one", async () => {
    const loom = await placeOne(`<form><field-loom name="story" required></field-loom></form>`);
    expect(loom.validity.valueMissing).toBe(true);
    expect(formOf().checkValidity()).toBe(false);
    expect(loom.validationMessage).toBe("Let a text be written here first.");
    generatorOf(loom).answer = slowly;
    const run = loom.generate();
    await vi.waitFor(() => expect(loom.text).not.toBe(""));
    expect(loom.validity.customError).toBe(true);
    expect(loom.checkValidity()).toBe(false);
    loom.stop();
    await run;
    expect(loom.validity.valid).toBe(true);
    expect(formOf().checkValidity()).toBe(true);
  });

  test("a form's reset gives the prompt of the attribute back, and no text", async () => {
    const loom = await placeOne(`<form><field-loom name="story"></field-loom></form>`);
    await loom.generate("Twice");
    formOf().reset();
    await loom.updateComplete;
    expect([loom.prompt, loom.text, fields()["story"]]).toEqual(["Once", "", ""]);
  });

  test("what the browser kept of it comes back", async () => {
    const loom = await placeOne(`<form><field-loom name="story"></field-loom></form>`);
    loom.formStateRestoreCallback(JSON.stringify({ prompt: "Then", text: " it rained." }));
    await loom.updateComplete;
    expect([loom.prompt, loom.text, fields()["story"]]).toEqual(["Then", " it rained.", " it rained."]);
    expect(buttonsOf(loom).map((button) => button.textContent?.trim())).toContain("Write on");
  });

  test("a disabled fieldset stops it, and takes prompt and buttons away until it is enabled", async () => {
    const loom = await placeOne(`<form><fieldset><field-loom name="story"></field-loom></fieldset></form>`);
    generatorOf(loom).answer = slowly;
    const run = loom.generate();
    await vi.waitFor(() => expect(loom.text).not.toBe(""));
    const fieldset = document.querySelector("fieldset") as HTMLFieldSetElement; // placed above
    fieldset.disabled = true;
    expect((await run)?.finishReason).toBe("abort");
    await loom.updateComplete;
    const prompt = loom.shadowRoot?.querySelector("#prompt");
    expect(prompt?.getAttribute("contenteditable")).toBe("false");
    expect(buttonsOf(loom).every((button) => button.matches(":disabled"))).toBe(true);
    expect(fields()).toEqual({});
    fieldset.disabled = false;
    await loom.updateComplete;
    expect(prompt?.getAttribute("contenteditable")).toBe("plaintext-only");
    expect(buttonsOf(loom).some((button) => button.matches(":disabled"))).toBe(false);
  });
});

describe("beside others with the same model", () => {
  test("they write one after the other, in the order of asking, and each says what it waits for", async () => {
    const looms = await place("<field-loom></field-loom>".repeat(3));
    const [one, two, three] = looms as [FieldLoom, FieldLoom, FieldLoom];
    generatorOf(one).answer = { pieces: Array.from({ length: 200 }, () => " la"), pieceMs: 5 };
    const ends: number[] = [];
    const runs = looms.map(async (loom, number) => loom.generate().then(() => ends.push(number)));
    const status = (loom: FieldLoom) => loom.shadowRoot?.querySelector("[part=status]")?.textContent?.trim();
    await vi.waitFor(() => expect(status(three)).toMatch(/^Waits for its turn: 2 other texts/));
    expect(status(two)).toMatch(/^Waits for its turn: another text/);
    expect(generatorOf(one).calls).toHaveLength(1);
    generatorOf(one).answer = {};
    one.stop();
    three.stop();
    await Promise.all(runs);
    expect(generatorOf(one).calls).toHaveLength(2); // the third never began
    expect(two.text).toBe(" and so on.");
    expect(three.text).toBe("");
    expect(ends.indexOf(0)).toBeLessThan(ends.indexOf(1));
  });
});

describe("with lazy", () => {
  test("nothing is loaded until it is seen", async () => {
    const loom = await placeOne(`<div style="height: 300vh"></div><field-loom lazy autoload></field-loom>`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([loom.state, loom.loads]).toEqual(["idle", 0]);
    loom.scrollIntoView();
    await vi.waitFor(() => expect(loom.state).toBe("ready"));
    expect(loom.loads).toBe(1);
    window.scrollTo(0, 0);
  });

  test("nothing is loaded until something in it has the focus", async () => {
    const loom = await placeOne(`<div style="height: 300vh"></div><field-loom lazy></field-loom>`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(loom.loads).toBe(0);
    loom.focus({ preventScroll: true });
    await vi.waitFor(() => expect(loom.state).toBe("ready"));
  });
});

describe("a screen reader", () => {
  test("hears all of the text in whole sentences, in order, at most every two seconds, then that it has ended", async () => {
    const loom = await placeOne("<field-loom></field-loom>");
    const region = loom.shadowRoot?.querySelector("[aria-live]") as HTMLElement;
    const heard: { text: string; atMs: number }[] = [];
    new MutationObserver(() => heard.push({ text: region.textContent ?? "", atMs: performance.now() })).observe(
      region,
      {
        ...{ childList: true, characterData: true, subtree: true },
      },
    );
    const sentences = Array.from({ length: 12 }, (_, number) => `This is sentence ${number}.`);
    generatorOf(loom).answer = { pieces: ` ${sentences.join(" ")}`.match(/\s\S+/g) ?? [], pieceMs: 100 };
    await loom.generate();
    await new Promise((resolve) => setTimeout(resolve));
    expect(heard.map(({ text }) => text).join(" ")).toBe(`${sentences.join(" ")} End of the text.`);
    for (const { text } of heard) expect(text).toMatch(/^This is .*\.$/);
    const streamed = heard.slice(0, -1);
    expect(streamed.length).toBeGreaterThan(1);
    streamed.slice(1).forEach(({ atMs }, number) => expect(atMs - (streamed[number]?.atMs ?? 0)).toBeGreaterThan(1900));
  }, 20_000);
});

describe("its buttons", () => {
  test("can be hit: 24 pixels or more in each direction, the numbers' explanations, too", async () => {
    const loom = await placeOne("<field-loom></field-loom>");
    await loom.generate();
    await loom.updateComplete;
    const buttons = [...(loom.shadowRoot?.querySelectorAll("button") ?? [])];
    expect(buttons.length).toBeGreaterThan(3);
    for (const button of buttons) {
      const { width, height } = button.getBoundingClientRect();
      expect(Math.min(width, height), button.textContent?.trim()).toBeGreaterThanOrEqual(24);
    }
  });
});
