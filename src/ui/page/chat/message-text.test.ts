import { expect, test } from "vitest";
import { blocksOf } from "./message-text";

test.each([
  ["nothing is no block", "", []],
  ["empty lines part paragraphs, and lines stay lines", "a\nb\n\n\nc", ["a\nb", "c"]],
  ["a fence makes code, with its language", "x\n```js\nlet a;\n\nlet b;\n```\ny", ["x", "js: let a;\n\nlet b;", "y"]],
  ["code that is still being written is code", "```\nlet a", [": let a"]],
  ["a longer fence holds shorter ones", "````\n```\n````", [": ```"]],
  ["a fence with words behind it ends nothing", "```\na\n```b\n```", [": a\n```b"]],
  ["backticks within a line are text", "a ``` b", ["a ``` b"]],
  ["markup is text", "<b>x</b>\n\n<script>1</script>", ["<b>x</b>", "<script>1</script>"]],
])("%s", (_, text, expected) => {
  const told = blocksOf(text).map((block) => (block.kind === "code" ? `${block.language}: ${block.text}` : block.text));
  expect(told).toEqual(expected);
});

test("a text that grows never takes back a block but its last", () => {
  const text = "one\n\ntwo\n```js\nx\n```\nthree";
  let before = blocksOf("");
  for (let length = 1; length <= text.length; length++) {
    const now = blocksOf(text.slice(0, length));
    // A fence that is not whole is a paragraph until it is: at most the last block changes its kind.
    expect(now.slice(0, Math.max(0, before.length - 1))).toEqual(before.slice(0, -1));
    before = now;
  }
});
