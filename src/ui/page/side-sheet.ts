/** What stands in the side sheet, one panel at a time. */
import { html, type TemplateResult } from "lit";
import type { LoadSettings } from "../word-loom/options";
import * as words from "../words/page";
import { shortcutsButton } from "../words/page-sheet";
import type { PageDocument } from "./documents/document";
import type { KeptDocument } from "./documents/kept-documents";
import "./documents/texts-panel";
import "./model-picker";
import type { Shared } from "./query";
import { keysTemplate, settingsTemplate, type SettingsActions, type SettingsState } from "./settings-sheet";
import type { Panel } from "./shell";

export interface SheetState extends SettingsState {
  load: LoadSettings;
  /** What is shown, if anything has been written. */
  document: PageDocument | undefined;
  shared: Shared;
}

export interface SheetActions extends SettingsActions {
  close(): void;
  loadModel(settings: LoadSettings): void;
  openDocument(document: KeptDocument): void;
  newText(): void;
}

export function sheetTemplate(panel: Panel, state: SheetState, actions: SheetActions): TemplateResult {
  return html`
    <div class="sheet-head">
      <h2 id="sheet-title" tabindex="-1">${titleOf(panel)}</h2>
      <button type="button" class="quiet" @click=${actions.close}>${words.close()}</button>
    </div>
    ${panelTemplate(panel, state, actions)}
  `;
}

function titleOf(panel: Panel): string {
  const titles: Record<Panel, () => string> = {
    ...{ model: words.model, texts: words.texts, settings: words.settings, keys: shortcutsButton },
  };
  return titles[panel]();
}

function panelTemplate(panel: Panel, state: SheetState, actions: SheetActions): TemplateResult {
  switch (panel) {
    case "model":
      return html`
        <wordloom-model-picker
          .info=${state.info}
          .load=${state.load}
          @model-chosen=${(event: CustomEvent<LoadSettings>) => actions.loadModel(event.detail)}
        ></wordloom-model-picker>
      `;
    case "settings":
      return settingsTemplate(state, actions);
    case "keys":
      return keysTemplate();
    case "texts":
      return html`
        <wordloom-texts
          .document=${state.document}
          .shared=${state.shared}
          @open-document=${(event: CustomEvent<KeptDocument>) => actions.openDocument(event.detail)}
          @new-text=${actions.newText}
        ></wordloom-texts>
      `;
  }
}
