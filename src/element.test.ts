import { expect, test } from "vitest";

test("wordloom/element can be imported where there is no document, as when a page is rendered on a server", async () => {
  expect(typeof document).toBe("undefined");
  const { WordLoom } = await import("./element");
  expect(WordLoom.formAssociated).toBe(true);
  expect(customElements.get("word-loom")).toBe(WordLoom); // of the stand-in that Lit brings for Node
});
