/** The one text of prompt and output: the prompt is edited where it stands, and what is written flows on from it. */
import { html, type TemplateResult } from "lit";
import { promptLabel, promptPlaceholder } from "../words/element";

export interface FlowState {
  /** The prompt cannot be changed now. */
  writing: boolean;
  /** The whole element is: a form's fieldset may say so. */
  disabled: boolean;
  /** The output was written from another prompt than the one that stands before it. */
  stale: boolean;
  onPrompt: (text: string) => void;
  /** Enter, without Shift. */
  onEnter: () => void;
}

/** Prompt and output are filled by hand, and stand without white space between them. */
export function flowTemplate({ writing, disabled, stale, onPrompt, onEnter }: FlowState): TemplateResult {
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!disabled) onEnter();
  };
  return html`
    <div class="flow" dir="auto" @click=${focusPrompt}>
      <span
        id="prompt"
        part="prompt"
        role="textbox"
        aria-multiline="true"
        aria-label=${promptLabel()}
        aria-readonly=${writing}
        aria-disabled=${disabled}
        tabindex=${disabled ? -1 : 0}
        contenteditable=${writing || disabled ? "false" : "plaintext-only"}
        enterkeyhint="go"
        data-placeholder=${promptPlaceholder()}
        @input=${(event: Event) => onPrompt(promptTextOf(event.currentTarget as HTMLElement))}
        @keydown=${onKey}
      ></span
      ><span id="output" part="output" class=${stale ? "stale" : ""}></span>
    </div>
  `;
}

/** The typed text. An editable element may hold line breaks as elements, and one more of them than was typed. */
export function promptTextOf(prompt: HTMLElement): string {
  return prompt.childElementCount > 0 ? prompt.innerText.replace(/\n$/, "") : (prompt.textContent ?? "");
}

/** The empty space beside and under a text belongs to it. */
function focusPrompt(event: Event): void {
  const flow = event.currentTarget as HTMLElement; // the listener is on it
  if (event.target === flow) flow.querySelector<HTMLElement>("#prompt")?.focus();
}
