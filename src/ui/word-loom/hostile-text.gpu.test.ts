/** What a model writes, and what its files are called, is text: markup does nothing, and hidden marks change nothing around it. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WordloomError } from "../../errors";
import { FakeGenerator } from "../../testing/fake-generator";
import type { Generator } from "../generator";
import { WordLoom } from "./word-loom";

class HostileLoom extends WordLoom {
  readonly generator = new FakeGenerator();
  failure: WordloomError | undefined;

  protected override async createGenerator(): Promise<Generator> {
    await Promise.resolve(); // as the real one: never before the caller has its promise
    if (this.failure) throw this.failure;
    return this.generator;
  }
}
customElements.define("hostile-loom", HostileLoom);

const MARKUP = [
  '<img src="x-hostile" onerror="globalThis.hostile = 1">',
  "<script>globalThis.hostile = 1</script>",
  "</span></div></word-loom><h1>Out</h1>",
  '<a href="javascript:globalThis.hostile = 1">link</a>',
  "<iframe srcdoc='<script>parent.hostile = 1</script>'></iframe>",
  "<style>* { display: none }</style><svg onload='globalThis.hostile = 1'>",
  "&lt;b&gt; <!-- ]]> ${globalThis.hostile = 1} {{ 1 }} <slot></slot>",
].join("\n");
/** Overrides, embeddings and isolates that are never closed; marks that cannot be seen; halves and noncharacters. */
const BIDI = "a\u202eb\u202dc\u2066d\u2067e\u2068f\u200f\u061c\u200b\ufeff\u0000\u0007\u001b[31m\ufdd0 end";

let modelNumber = 0;
let violations: string[] = [];
const note = (event: SecurityPolicyViolationEvent) => violations.push(event.blockedURI);
beforeEach(() => {
  violations = [];
  document.addEventListener("securitypolicyviolation", note);
});
afterEach(() => {
  document.removeEventListener("securitypolicyviolation", note);
  document.body.replaceChildren();
  delete (globalThis as { hostile?: unknown }).hostile;
});

async function written(pieces: readonly string[], prompt = "x"): Promise<HostileLoom> {
  const loom = document.createElement("hostile-loom") as HostileLoom; // defined above
  loom.setAttribute("model", `hostile-${modelNumber++}`);
  loom.generator.answer = { pieces };
  document.body.append(loom);
  await loom.generate(prompt);
  await loom.updateComplete;
  return loom;
}

const output = (loom: WordLoom) => loom.shadowRoot?.querySelector<HTMLElement>("[part~='output']");
const elementsIn = (root: ParentNode | null | undefined) =>
  Array.from(
    root?.querySelectorAll("img, script, h1, iframe, a[href^='javascript'], svg[onload]") ?? [],
    ({ outerHTML }) => outerHTML,
  );
const hostile = () => (globalThis as { hostile?: unknown }).hostile;

test.each([
  ["at once", [MARKUP]],
  ["letter by letter", Array.from(MARKUP)],
])("markup that comes %s is shown as it is written, and nothing of it runs or loads", async (_, pieces) => {
  const loom = await written(pieces);
  await vi.waitFor(() => expect(output(loom)?.textContent).toContain(MARKUP));
  expect(loom.text).toContain(MARKUP);
  expect(elementsIn(loom.shadowRoot)).toEqual([]);
  expect(elementsIn(document.body)).toEqual([]);
  await new Promise((done) => setTimeout(done, 100)); // an image's error, a frame's script
  expect(hostile()).toBeUndefined();
  expect(performance.getEntriesByType("resource").filter(({ name }) => name.includes("x-hostile"))).toEqual([]);
});

test("markup in an error's message and remedy is text, too", async () => {
  const loom = document.createElement("hostile-loom") as HostileLoom;
  loom.setAttribute("model", `hostile-${modelNumber++}`);
  loom.failure = new WordloomError("file-invalid", `<b>${MARKUP}`, { remedy: MARKUP });
  document.body.append(loom);
  await loom.load().catch(() => undefined); // shown by the element, which is what counts here
  await loom.updateComplete;
  const shown = loom.shadowRoot?.querySelector("[role='alert']");
  expect(shown?.textContent).toContain("<script>globalThis.hostile = 1</script>");
  expect(elementsIn(loom.shadowRoot)).toEqual([]);
  expect(hostile()).toBeUndefined();
});

test("marks that turn the direction stay inside the text: what stands beside it is laid out as without them", async () => {
  // Facts of the status line stand after numbers, which take more or less room from run to run.
  const placesOf = (loom: WordLoom) =>
    Array.from(loom.shadowRoot?.querySelectorAll("button:not(.fact), [part~='status']") ?? [], (element) => {
      const { left, width } = element.getBoundingClientRect();
      return [
        element.textContent
          .replace(/\s+/g, " ")
          .trim()
          .replace(/[\d.]+/g, "0"),
        Math.round(left),
        Math.round(width),
      ];
    });
  const plain = await written(["abcdef end"]);
  await vi.waitFor(() => expect(output(plain)?.textContent).toContain("end"));
  const buttons = (loom: WordLoom) => placesOf(loom).map(([name, left]) => [name, left]);
  const expected = buttons(plain);
  plain.remove();
  const turned = await written([BIDI]);
  await vi.waitFor(() => expect(output(turned)?.textContent).toContain("end"));
  expect(turned.text).toContain(BIDI);
  expect(buttons(turned)).toEqual(expected);
});
