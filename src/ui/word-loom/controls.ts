/** The buttons under the text: write, stop, write on, write anew, clear. */
import { html, nothing, type TemplateResult } from "lit";
import * as words from "../words/element";

export interface ControlsState {
  /** A run goes on, or waits for its model. */
  writing: boolean;
  /** More can be written after the text that is there. */
  canContinue: boolean;
  hasText: boolean;
  /** Where it is written, if not on this device. */
  host: string | undefined;
  /** Another button is the next step. */
  isSecondary: boolean;
  disabled: boolean;
}

export interface ControlsActions {
  write: () => void;
  continue: () => void;
  stop: () => void;
  clear: () => void;
}

export function controlsTemplate(
  { writing, canContinue, hasText, host, isSecondary, disabled }: ControlsState,
  actions: ControlsActions,
): TemplateResult {
  const button = (label: string, action: () => void, isPrimary: boolean) => html`
    <button
      type="button"
      part="button ${isPrimary ? "primary-button" : ""}"
      class=${isPrimary ? "primary" : ""}
      ?disabled=${disabled}
      @click=${action}
    >
      ${label}
    </button>
  `;
  if (writing)
    return html`<div part="controls">${button(words.stop(), actions.stop, true)}<slot name="controls"></slot></div>`;
  const write = host ? words.writeAt(host) : words.write();
  return html`
    <div part="controls">
      ${canContinue ? button(words.writeOn(), actions.continue, !isSecondary) : button(write, actions.write, !isSecondary)}
      ${canContinue ? button(words.writeAnew(), actions.write, false) : nothing}
      ${hasText ? button(words.clear(), actions.clear, false) : nothing}
      <slot name="controls"></slot>
    </div>
  `;
}
