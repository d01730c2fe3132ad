/** What the page shows before anything is opened: its header, and the words before the first text. */
import { html, nothing, type TemplateResult } from "lit";
import * as words from "../words/page";

/** "write": a text goes on from a beginning. "chat": messages and answers. */
export type Mode = "write" | "chat";
export type Panel = "model" | "texts" | "settings" | "keys";

export interface HeaderState {
  mode: Mode;
  panel: Panel | undefined;
}

export interface HeaderActions {
  choose(mode: Mode): void;
  toggle(panel: Panel): void;
}

export function headerTemplate({ mode, panel }: HeaderState, actions: HeaderActions): TemplateResult {
  const modeButton = (each: Mode, label: string) => html`
    <button type="button" aria-pressed=${mode === each} @click=${() => actions.choose(each)}>${label}</button>
  `;
  const panelButton = (each: Panel, label: string) => html`
    <button
      id="${each}-button"
      type="button"
      class="quiet"
      aria-expanded=${panel === each}
      aria-controls="sheet"
      @click=${() => actions.toggle(each)}
    >
      ${label}
    </button>
  `;
  return html`
    <header>
      <h1>${wordmark}<span>wordloom</span></h1>
      <div class="modes" role="group" aria-label=${words.modes()}>
        ${modeButton("write", words.text())} ${modeButton("chat", words.chat())}
      </div>
      <wordloom-update-offer></wordloom-update-offer>
      <div class="panels">
        ${panelButton("model", words.model())} ${panelButton("texts", words.texts())}
        ${panelButton("settings", words.settings())}
      </div>
    </header>
  `;
}

export interface IntroState {
  /** "wordloom-stories, 10 MiB, comes from this site …" */
  whatIsLoaded: string;
  /** Of loading: undefined where there is nothing to stop and nothing to go on with. */
  loading: "under-way" | "halted" | undefined;
}

export interface IntroActions {
  begin(beginning: string): void;
  cancelLoading(): void;
  goOnLoading(): void;
}

export function introTemplate({ whatIsLoaded, loading }: IntroState, actions: IntroActions): TemplateResult {
  return html`
    <div class="intro">
      <p class="lead">${words.lead()}</p>
      <p>${whatIsLoaded}</p>
      ${loadingTemplate(loading, actions)}
      <p id="beginnings" class="label">${words.orBeginWith()}</p>
      <ul aria-labelledby="beginnings">
        ${words.BEGINNINGS.map(
          (text) => html`
            <li>
              <button type="button" class="beginning" lang="en" @click=${() => actions.begin(text)}>${text}</button>
            </li>
          `,
        )}
      </ul>
    </div>
  `;
}

export function loadingTemplate(
  loading: IntroState["loading"],
  { cancelLoading, goOnLoading }: Pick<IntroActions, "cancelLoading" | "goOnLoading">,
): TemplateResult | typeof nothing {
  switch (loading) {
    case undefined:
      return nothing;
    case "under-way":
      return html`<p class="choices">
        <button type="button" @click=${cancelLoading}>${words.cancelLoading()}</button>
      </p>`;
    case "halted":
      return html`
        <p>${words.loadingHalted()}</p>
        <p class="choices"><button type="button" @click=${goOnLoading}>${words.goOnLoading()}</button></p>
      `;
  }
}

/** Three warp threads and one weft going over, under, over. */
const wordmark = html`
  <svg
    viewBox="0 0 24 24"
    width="22"
    height="22"
    aria-hidden="true"
    fill="none"
    stroke="currentColor"
    stroke-width="2.4"
  >
    <path d="M6 3v6.4M6 14.6V21M12 3v18M18 3v6.4M18 14.6V21M2 12h7.2M14.8 12H22" stroke-linecap="round" />
  </svg>
`;
