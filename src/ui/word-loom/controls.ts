/** The buttons under the text: write, stop, write on, write anew, clear. */
import { html, nothing, type TemplateResult } from "lit";

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
}

export interface ControlsActions {
  write: () => void;
  continue: () => void;
  stop: () => void;
  clear: () => void;
}

export function controlsTemplate(
  { writing, canContinue, hasText, host, isSecondary }: ControlsState,
  actions: ControlsActions,
): TemplateResult {
  const write = host ? `Write on ${host}` : "Write";
  return html`
    <div part="controls">
      ${
        writing
          ? html`<button class="primary" type="button" @click=${actions.stop}>Stop</button>`
          : html`<button
              class=${isSecondary ? "" : "primary"}
              type="button"
              @click=${canContinue ? actions.continue : actions.write}
            >
              ${canContinue ? "Write on" : write}
            </button>`
      }
      ${!writing && canContinue ? html`<button type="button" @click=${actions.write}>Write anew</button>` : nothing}
      ${!writing && hasText ? html`<button type="button" @click=${actions.clear}>Clear</button>` : nothing}
    </div>
  `;
}
