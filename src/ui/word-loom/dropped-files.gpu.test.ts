/** Files dropped on an element in a real browser, on a generator that needs no model. */
import { afterEach, describe, expect, test } from "vitest";
import { FakeGenerator } from "../../testing/fake-generator";
import type { Generator } from "../generator";
import { droppedFiles } from "./dropped-files";
import type { ModelSource } from "./options";
import { WordLoom } from "./word-loom";

const loads: ModelSource[] = [];

class DropLoom extends WordLoom {
  protected override async createGenerator(source: ModelSource): Promise<Generator> {
    loads.push(source);
    return new FakeGenerator();
  }
}
customElements.define("drop-loom", DropLoom);

afterEach(() => {
  document.body.replaceChildren();
  loads.length = 0;
});

async function place(): Promise<DropLoom> {
  const loom = document.createElement("drop-loom") as DropLoom; // defined above
  document.body.append(loom);
  await loom.updateComplete;
  return loom;
}

function drag(target: HTMLElement, type: string, add: (transfer: DataTransfer) => void): DragEvent {
  const dataTransfer = new DataTransfer();
  add(dataTransfer);
  const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
  target.dispatchEvent(event);
  return event;
}

describe("a file dropped on the element", () => {
  test("becomes its model, is loaded, and the page hears of it", async () => {
    const loom = await place();
    const file = new File(["x"], "tiny.gguf");
    const heard = new Promise<CustomEvent<File[]>>((resolve) =>
      document.addEventListener("model-dropped", (event) => resolve(event as CustomEvent<File[]>), { once: true }),
    );
    expect(drag(loom, "dragover", ({ items }) => items.add(file)).defaultPrevented).toBe(true);
    expect(loom.hasAttribute("drop-target")).toBe(true);
    expect(drag(loom, "drop", ({ items }) => items.add(file)).defaultPrevented).toBe(true);
    expect(loom.hasAttribute("drop-target")).toBe(false);
    expect((await heard).detail.map(({ name }) => name)).toEqual(["tiny.gguf"]);
    await loom.load();
    expect(loom.state).toBe("ready");
    expect(loads).toEqual([loom.model]);
    expect(loom.shadowRoot?.querySelector("[part='status']")?.textContent).toContain("tiny.gguf");
  });

  test("of the same name a second time is another model", async () => {
    const loom = await place();
    for (const content of ["x", "y"]) {
      drag(loom, "drop", ({ items }) => items.add(new File([content], "tiny.gguf")));
      await new Promise((resolve) => document.addEventListener("model-dropped", resolve, { once: true }));
      await loom.load();
    }
    expect(loads).toHaveLength(2);
  });

  test("is left alone where it is text that is dragged", async () => {
    const loom = await place();
    const dragText = (type: string) => drag(loom, type, ({ items }) => items.add("Once", "text/plain"));
    expect(dragText("dragover").defaultPrevented).toBe(false);
    expect(dragText("drop").defaultPrevented).toBe(false);
    expect(loom.hasAttribute("drop-target")).toBe(false);
    expect(loads).toEqual([]);
  });
});

test("a dropped folder gives its own files, in all portions, with their path", async () => {
  const entry = (name: string) => ({
    isFile: true,
    isDirectory: false,
    file: (resolve: (file: File) => void) => resolve(new File([name], name)),
  });
  const portions = [[entry("config.json"), { isFile: false, isDirectory: true }], [entry("model.safetensors")], []];
  const folder = {
    isFile: false,
    isDirectory: true,
    name: "tiny",
    createReader: () => ({ readEntries: (resolve: (entries: unknown) => void) => resolve(portions.shift()) }),
  };
  const item = { kind: "file", webkitGetAsEntry: () => folder, getAsFile: () => new File([], "tiny") };
  const files = await droppedFiles({ items: [item] } as unknown as DataTransfer); // as much of it as is used
  expect(files.map(({ webkitRelativePath }) => webkitRelativePath)).toEqual([
    "tiny/config.json",
    "tiny/model.safetensors",
  ]);
});
