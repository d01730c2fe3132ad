/**
 * An answer's text as paragraphs and blocks of code. Everything of it becomes a text node: nothing a model writes is ever
 * read as HTML, and no link, image or style comes of it.
 */
import { html, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import * as words from "../../words/page-chat";

export type Block = { kind: "paragraph"; text: string } | { kind: "code"; language: string; text: string };

/** A line that opens or closes code: three backticks or more, and what stands behind them. */
const FENCE = /^ {0,3}(`{3,})([^`]*)$/;

/**
 * Empty lines part paragraphs; a fence begins code, which the same or a longer one ends, or the text's end, so that code
 * that is still being written is shown as code.
 */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  let code: { fence: string; language: string } | undefined;
  const endParagraph = () => {
    const paragraph = lines.join("\n");
    if (paragraph.trim() !== "") blocks.push({ kind: "paragraph", text: paragraph });
    lines = [];
  };
  for (const line of text.split("\n")) {
    const [, fence, rest = ""] = FENCE.exec(line) ?? [];
    if (code) {
      if (fence !== undefined && rest.trim() === "" && fence.length >= code.fence.length) {
        blocks.push({ kind: "code", language: code.language, text: lines.join("\n") });
        lines = [];
        code = undefined;
      } else lines.push(line);
    } else if (fence !== undefined) {
      endParagraph();
      code = { fence, language: rest.trim() };
    } else if (line.trim() === "") endParagraph();
    else lines.push(line);
  }
  if (code) blocks.push({ kind: "code", language: code.language, text: lines.join("\n") });
  else endParagraph();
  return blocks;
}

/** Blocks that are there stay the same nodes while text arrives; each has its own direction of writing. */
export function messageTemplate(text: string): TemplateResult {
  const blocks = blocksOf(text);
  return html`${repeat(
    blocks,
    ({ kind }, at) => `${at} ${kind}`,
    (block) =>
      block.kind === "code"
        ? html`<pre dir="ltr" tabindex="0" role="region" aria-label=${words.code(block.language)}><code
            >${block.text}</code
          ></pre>`
        : html`<p dir="auto">${block.text}</p>`,
  )}`;
}
