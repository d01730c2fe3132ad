import { html, type TemplateResult } from "lit";
import * as words from "../../words/page-texts";

const CONFIRM_MS = 1500;

/** Copies a text to the clipboard, and says so in its own place; where the browser refuses, the button stays as it was. */
export function copyButton(textOf: () => string, label = words.copy): TemplateResult {
  const copy = async (event: Event) => {
    const button = event.currentTarget as HTMLButtonElement; // the listener is on it
    const mark = button.querySelector("span");
    await navigator.clipboard.writeText(textOf());
    if (!mark) return;
    mark.textContent = words.copied();
    setTimeout(() => (mark.textContent = label()), CONFIRM_MS);
  };
  return html`<button type="button" @click=${copy}><span aria-live="polite" .textContent=${label()}></span></button>`;
}
