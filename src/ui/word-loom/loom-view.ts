/** What the element shows, of what it is and has. */
import { html, nothing, type TemplateResult } from "lit";
import type { WordloomError } from "../../errors";
import type { AnyInfo } from "../generator";
import { controlsTemplate, type ControlsActions } from "./controls";
import { offerFor, type Offer } from "./failure";
import { flowTemplate } from "./flow";
import type { ModelOpening } from "./model-opening";
import { BUNDLED_MODEL, hostOf, type ModelSource } from "./options";
import { failureTemplate, progressTemplate, statusTemplate, takeoverTemplate, waitingTemplate } from "./regions";
import type { Written } from "./written";

export interface LoomView {
  model: ModelSource;
  endpoint: string | undefined;
  baseURI: string;
  prompt: string;
  hasText: boolean;
  written: Written | undefined;
  info: AnyInfo | undefined;
  writing: boolean;
  disabled: boolean;
  /** Texts of others that come before this one. */
  ahead: number;
  opening: ModelOpening | undefined;
  error: WordloomError | undefined;
}

export interface LoomActions extends ControlsActions {
  changePrompt: (text: string) => void;
  accept: (offer: Offer) => void;
}

export function loomTemplate(view: LoomView, actions: LoomActions): TemplateResult {
  const { model, endpoint, prompt, written, info, writing, disabled, ahead, opening, error } = view;
  const stale = written !== undefined && prompt !== written.prompt;
  const canContinue = !stale && view.hasText && written?.hasRoom(info?.contextLength) === true;
  const offer = error && offerFor(error.code, model === BUNDLED_MODEL);
  const server = info?.backend === "remote" ? info.endpoint : endpoint;
  const host = server ? hostOf(server, view.baseURI) : undefined;
  const controls = {
    writing,
    disabled,
    canContinue,
    hasText: written !== undefined,
    host,
    isSecondary: offer !== undefined,
  };
  const numbers = ahead > 0 ? waitingTemplate(ahead) : statusTemplate({ model, info, written, server: host });
  return html`
    ${flowTemplate({ writing, disabled, stale, onPrompt: actions.changePrompt, onEnter: actions.write })}
    <div id="announcer" aria-live="polite"></div>
    ${error ? failureTemplate(error, offer, actions.accept, !written) : nothing}
    ${info?.backend === "remote" && !endpoint ? takeoverTemplate(info) : nothing} ${controlsTemplate(controls, actions)}
    ${written || error ? nothing : html`<div part="intro"><slot></slot></div>`}
    ${opening ? progressTemplate(model, opening) : numbers}
  `;
}
