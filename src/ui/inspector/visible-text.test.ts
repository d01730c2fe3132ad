import { expect, test } from "vitest";
import { visibleText } from "./visible-text";

test.each([
  [" the", undefined, "␣the"],
  ["\n\n", undefined, "⏎⏎"],
  ["a\tb", undefined, "a⇥b"],
  ["\u202eabc", undefined, "‹202E›abc"],
  ["\u0007", undefined, "‹0007›"],
  ["", Uint8Array.of(0xe2, 0x82), "‹E2›‹82›"],
  ["", Uint8Array.of(), "∅"],
  ["größe", undefined, "größe"],
])("%j is shown as something one can see", (text, bytes, shown) => expect(visibleText(text, bytes)).toBe(shown));
