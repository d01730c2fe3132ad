/** Everything that can be set of the writing, each with a sentence on what it does. */
import { html, nothing, type TemplateResult } from "lit";
import type { GeneratorInfo } from "../generator";
import * as words from "../words/page-sheet";
import "../words/language-switch";
import { areaField, choiceField, numberField, sliderField } from "./fields";
import { describeSampling, samplingOf, type Preset, type RunSettings, type Sampling } from "./sampling";

export interface SettingsState {
  info: GeneratorInfo | undefined;
  preset: Preset;
  sampling: Sampling;
  run: RunSettings;
  system: string;
}

export interface SettingsActions {
  choosePreset(preset: Preset): void;
  setSampling(change: Sampling): void;
  /** A name whose value is undefined is not set any more. */
  setRun(change: { [Name in keyof RunSettings]: RunSettings[Name] | undefined }): void;
  setSystem(system: string): void;
  reset(): void;
  showKeys(): void;
}

export function settingsTemplate(state: SettingsState, actions: SettingsActions): TemplateResult {
  return html`
    <form class="fields" @submit=${(event: Event) => event.preventDefault()}>
      ${samplingFields(state, actions)} ${lengthFields(state, actions)}
      <fieldset>
        <legend>${words.forChat()}</legend>
        ${areaField({
          id: "system",
          label: words.system(),
          help: words.systemHelp(),
          value: state.system,
          set: actions.setSystem,
        })}
      </fieldset>
      <p class="choices">
        <button type="button" @click=${actions.reset}>${words.reset()}</button>
        <button type="button" @click=${actions.showKeys}>${words.shortcutsButton()}</button>
      </p>
    </form>
    <div class="fields"><wordloom-language-switch></wordloom-language-switch></div>
    <wordloom-offline-status></wordloom-offline-status>
  `;
}

function samplingFields({ info, preset, sampling }: SettingsState, actions: SettingsActions): TemplateResult {
  const describe = (each: Preset) => describeSampling(samplingOf(each, info?.suggestedSampling, sampling));
  const presets: [Preset, string, string][] = [
    ["model", words.asModelSuggests(), info ? describe("model") : words.knownWhenLoaded()],
    ["likeliest", words.likeliest(), words.likeliestNote()],
    ["calm", words.calm(), describe("calm")],
    ["lively", words.lively(), describe("lively")],
    ["own", words.own(), preset === "own" ? describe("own") : words.ownNote()],
  ];
  const { setSampling } = actions;
  return html`
    <fieldset>
      <legend>${words.nextWord()}</legend>
      ${presets.map(([value, label, note]) =>
        choiceField({
          ...{ type: "radio", name: "preset", value, label, note, checked: preset === value },
          set: () => actions.choosePreset(value),
        }),
      )}
      ${sliderField({
        ...{ id: "temperature", label: words.temperature(), help: words.temperatureHelp() },
        range: { min: 0, max: 2, step: 0.05 },
        value: sampling.temperature ?? 1,
        set: (temperature) => setSampling({ temperature }),
      })}
      ${sliderField({
        ...{ id: "top-p", label: words.topP(), help: words.topPHelp() },
        range: { min: 0.05, max: 1, step: 0.01 },
        value: sampling.topP ?? 1,
        set: (topP) => setSampling({ topP }),
      })}
      ${numberField({
        ...{ id: "top-k", label: words.topK(), help: words.topKHelp() },
        limits: { min: 1, step: 1 },
        value: sampling.topK,
        set: (topK) => setSampling({ topK: topK ?? 0 }),
      })}
      ${sliderField({
        ...{ id: "min-p", label: words.minP(), help: words.minPHelp() },
        range: { min: 0, max: 0.5, step: 0.01 },
        value: sampling.minP ?? 0,
        set: (minP) => setSampling({ minP }),
      })}
      ${sliderField({
        ...{ id: "repetition-penalty", label: words.repetitionPenalty(), help: words.repetitionPenaltyHelp() },
        range: { min: 1, max: 2, step: 0.05 },
        value: sampling.repetitionPenalty ?? 1,
        set: (repetitionPenalty) => setSampling({ repetitionPenalty }),
      })}
      <details class="more">
        <summary>${words.moreWays()}</summary>
        ${sliderField({
          ...{ id: "typical-p", label: words.typicalP(), help: words.typicalPHelp() },
          range: { min: 0.05, max: 1, step: 0.01 },
          value: sampling.typicalP ?? 1,
          set: (typicalP) => setSampling({ typicalP }),
        })}
        ${sliderField({
          ...{ id: "frequency-penalty", label: words.frequencyPenalty(), help: words.frequencyPenaltyHelp() },
          range: { min: -2, max: 2, step: 0.1 },
          value: sampling.frequencyPenalty ?? 0,
          set: (frequencyPenalty) => setSampling({ frequencyPenalty }),
        })}
        ${sliderField({
          ...{ id: "presence-penalty", label: words.presencePenalty(), help: words.presencePenaltyHelp() },
          range: { min: -2, max: 2, step: 0.1 },
          value: sampling.presencePenalty ?? 0,
          set: (presencePenalty) => setSampling({ presencePenalty }),
        })}
        ${sliderField({
          ...{ id: "dry-multiplier", label: words.dry(), help: words.dryHelp() },
          range: { min: 0, max: 2, step: 0.1 },
          value: sampling.dryMultiplier ?? 0,
          set: (dryMultiplier) => setSampling({ dryMultiplier }),
        })}
      </details>
      ${coldNote(sampling)}
    </fieldset>
  `;
}

function coldNote({ temperature, typicalP = 1 }: Sampling): TemplateResult | typeof nothing {
  if (temperature !== 0) return nothing;
  return html`<p class="note">${typicalP < 1 ? words.coldTypical() : words.coldNote()}</p>`;
}

function lengthFields({ run }: SettingsState, actions: SettingsActions): TemplateResult {
  return html`
    <fieldset>
      <legend>${words.lengthAndChance()}</legend>
      ${numberField({
        ...{ id: "max-new-tokens", label: words.tokensToWrite(), help: words.tokensToWriteHelp() },
        limits: { min: 1, step: 1 },
        value: run.maxNewTokens,
        set: (maxNewTokens) => actions.setRun({ maxNewTokens }),
      })}
      ${numberField({
        ...{ id: "seed", label: words.seed(), help: words.seedHelp() },
        limits: { min: 0, step: 1 },
        value: run.seed,
        set: (seed) => actions.setRun({ seed }),
      })}
      ${areaField({
        ...{ id: "stop-strings", label: words.stopBefore(), help: words.stopBeforeHelp() },
        value: (run.stop ?? []).join("\n"),
        set: (text) => {
          const lines = text.split("\n").filter((line) => line !== "");
          actions.setRun({ stop: lines.length > 0 ? lines : undefined });
        },
      })}
    </fieldset>
  `;
}

/** Every shortcut of the page. */
export function keysTemplate(): TemplateResult {
  const keys: [string, string][] = [
    ["Enter", words.shortcutEnter()],
    ["Shift + Enter", words.shortcutLine()],
    ["Ctrl / ⌘ + Enter", words.shortcutOn()],
    ["Ctrl / ⌘ + Shift + Enter", words.shortcutAnew()],
    ["Alt + ↑ ↓", words.shortcutVersions()],
    ["Esc", words.shortcutStop()],
    ["?", words.shortcutHelp()],
  ];
  return html`
    <dl class="keys">
      ${keys.map(
        ([key, meaning]) =>
          html`<div>
            <dt><kbd>${key}</kbd></dt>
            <dd>${meaning}</dd>
          </div>`,
      )}
    </dl>
  `;
}
