/** The side sheet: everything that can be set, each with a sentence on what it does. */
import { html, nothing, type TemplateResult } from "lit";
import type { GeneratorInfo } from "../generator";
import { computedBy, modelName } from "../word-loom/format";
import { BUNDLED_MODEL, type GenerateSettings, type LoadSettings } from "../word-loom/options";
import { describeSampling, samplingOf, type Preset, type Sampling } from "./sampling";
import "../words/language-switch";
import "./stored-models";

export interface SheetState {
  info: GeneratorInfo | undefined;
  preset: Preset;
  sampling: Sampling;
  generate: Pick<GenerateSettings, "maxNewTokens" | "seed" | "stopStrings">;
  load: LoadSettings;
}

export interface SheetActions {
  close(): void;
  choosePreset(preset: Preset): void;
  setSampling(change: Partial<Sampling>): void;
  setGenerate(change: Partial<SheetState["generate"]>): void;
  loadModel(settings: LoadSettings): void;
}

export function settingsTemplate(state: SheetState, actions: SheetActions): TemplateResult {
  return html`
    <div class="sheet-head">
      <h2 id="settings-title" tabindex="-1">Settings</h2>
      <button type="button" class="quiet" @click=${actions.close}>Close</button>
    </div>
    <form class="fields" @submit=${(event: Event) => event.preventDefault()}>
      ${samplingFields(state, actions)} ${lengthFields(state, actions)}
    </form>
    ${modelForm(state, actions)}
    <div class="fields"><wordloom-language-switch></wordloom-language-switch></div>
    <wordloom-stored-models .info=${state.info} .model=${state.load.model}></wordloom-stored-models>
  `;
}

function samplingFields({ info, preset, sampling }: SheetState, actions: SheetActions): TemplateResult {
  const suggested = describeSampling(samplingOf("model", info?.suggestedSampling, sampling));
  const presets: [Preset, string, string][] = [
    ["model", "As the model suggests", info ? suggested : "known when the model is loaded"],
    ["likeliest", "Always the likeliest word", "the same text each time"],
    ["own", "Your own", preset === "own" ? describeSampling(sampling) : "change anything below"],
  ];
  return html`
    <fieldset>
      <legend>How the next word is chosen</legend>
      ${presets.map(
        ([value, label, note]) => html`
          <label class="choice">
            <input
              type="radio"
              name="preset"
              value=${value}
              .checked=${preset === value}
              @change=${() => actions.choosePreset(value)}
            />
            <span>${label}<small>${note}</small></span>
          </label>
        `,
      )}
      ${sliderField({
        id: "temperature",
        label: "Temperature",
        help: "How adventurous: at 0 the likeliest word always wins, above 1 unlikely ones often do.",
        range: { min: 0, max: 2, step: 0.05 },
        value: sampling.temperature ?? 1,
        set: (temperature) => actions.setSampling({ temperature }),
      })}
      ${sliderField({
        id: "top-p",
        label: "Top-p",
        help: "Keeps the likeliest words that together make up this share; 1 keeps all.",
        range: { min: 0.05, max: 1, step: 0.01 },
        value: sampling.topP ?? 1,
        set: (topP) => actions.setSampling({ topP }),
      })}
      ${numberField({
        id: "top-k",
        label: "Top-k",
        help: "Keeps only so many of the likeliest words. Empty: no limit.",
        limits: { min: 1, step: 1 },
        value: sampling.topK,
        set: (topK) => actions.setSampling({ topK }),
      })}
      ${sliderField({
        id: "min-p",
        label: "Min-p",
        help: "Drops words less likely than this share of the likeliest one; 0 drops none.",
        range: { min: 0, max: 0.5, step: 0.01 },
        value: sampling.minP ?? 0,
        set: (minP) => actions.setSampling({ minP }),
      })}
      ${sliderField({
        id: "repetition-penalty",
        label: "Repetition penalty",
        help: "Makes words that have occurred less likely; 1 leaves them alone.",
        range: { min: 1, max: 2, step: 0.05 },
        value: sampling.repetitionPenalty ?? 1,
        set: (repetitionPenalty) => actions.setSampling({ repetitionPenalty }),
      })}
      ${
        sampling.temperature === 0
          ? html`<p class="note">At temperature 0 the cut-offs change nothing: the likeliest word is always kept.</p>`
          : nothing
      }
    </fieldset>
  `;
}

function lengthFields({ generate }: SheetState, actions: SheetActions): TemplateResult {
  return html`
    <fieldset>
      <legend>Length and chance</legend>
      ${numberField({
        id: "max-new-tokens",
        label: "Tokens to write",
        help: "Writing stops after so many tokens, or earlier where the text ends. Empty: 256.",
        limits: { min: 1, step: 1 },
        value: generate.maxNewTokens,
        set: (maxNewTokens) => actions.setGenerate({ maxNewTokens }),
      })}
      ${numberField({
        id: "seed",
        label: "Seed",
        help: "The same seed and settings give the same text on this device. Empty: a new one each time.",
        limits: { min: 0, step: 1 },
        value: generate.seed,
        set: (seed) => actions.setGenerate({ seed }),
      })}
      <div class="field">
        <label for="stop-strings">Stop before</label>
        <textarea
          id="stop-strings"
          rows="2"
          aria-describedby="stop-strings-help"
          .value=${(generate.stopStrings ?? []).join("\n")}
          @change=${(event: Event) => {
            const lines = (event.target as HTMLTextAreaElement).value.split("\n").filter((line) => line !== "");
            actions.setGenerate({ stopStrings: lines.length > 0 ? lines : undefined });
          }}
        ></textarea>
        <p id="stop-strings-help">Writing ends where one of these would appear; one a line.</p>
      </div>
    </fieldset>
  `;
}

function modelForm({ info, load }: SheetState, actions: SheetActions): TemplateResult {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => (form.get(name) as string | null)?.trim() || undefined; // no field here is a file
    const contextLength = text("context-length");
    actions.loadModel({
      model: text("model") ?? (typeof load.model === "string" ? undefined : load.model),
      dtype: text("dtype"),
      contextLength: contextLength === undefined ? undefined : Number(contextLength),
      backend: text("backend"),
      allowReference: form.has("allow-reference"),
    });
  };
  return html`
    <form class="fields" @submit=${submit}>
      <fieldset>
        <legend>Model</legend>
        <div class="field">
          <label for="model">Where the model is</label>
          <input
            id="model"
            name="model"
            type="text"
            spellcheck="false"
            autocapitalize="off"
            autocomplete="off"
            placeholder=${typeof load.model === "object" ? `${modelName(load.model)}, from this device` : BUNDLED_MODEL}
            aria-describedby="model-help"
            .value=${typeof load.model === "string" ? load.model : ""}
          />
          <p id="model-help">
            Address of a folder with config.json, tokenizer.json and model.safetensors, of a .gguf file, or hf:org/name.
            Empty: the story model that comes with this page. Or drop a folder or a .gguf file on the text.
          </p>
        </div>
        ${selectField({
          id: "dtype",
          label: "Weights held as",
          help: info
            ? `Loaded as ${info.dtype}, the KV cache as ${info.kvDtype}. Smaller ones need less memory and blur the numbers.`
            : "Smaller ones need less memory and blur the numbers.",
          options: [
            ["", "Choose for me"],
            ["f32", "f32 (4 bytes a weight)"],
            ["f16", "f16 (2 bytes)"],
            ["q8", "q8 (about 1 byte)"],
            ["q4", "q4 (about half a byte)"],
          ],
          value: load.dtype,
        })}
        <div class="field">
          <label for="context-length">Context length</label>
          <input
            id="context-length"
            name="context-length"
            type="number"
            min="1"
            step="1"
            aria-describedby="context-length-help"
            .value=${String(load.contextLength ?? "")}
          />
          <p id="context-length-help">
            How many tokens the model can see at once; memory is set aside for all of them.
            ${info ? `Now ${info.contextLength}.` : nothing} Empty: as many as the model was made for, if they fit.
          </p>
        </div>
        ${selectField({
          id: "backend",
          label: "Computed by",
          help: info
            ? `Now ${computedBy(info)}${info.adapter === "" ? "" : ` (${info.adapter}, ${info.tier})`}.`
            : "The graphics card, where the browser lets pages use it.",
          options: [
            ["", "Choose for me"],
            ["webgpu", "The graphics card (WebGPU)"],
            ["reference", "The processor (slow)"],
          ],
          value: load.backend,
        })}
        <label class="choice">
          <input type="checkbox" name="allow-reference" .checked=${load.allowReference} />
          <span>Write slowly without the GPU<small>if the browser has no WebGPU; for small models only</small></span>
        </label>
        <button type="submit">Load the model with these settings</button>
      </fieldset>
    </form>
  `;
}

interface SliderField {
  id: string;
  label: string;
  help: string;
  range: { min: number; max: number; step: number };
  value: number;
  set: (value: number) => void;
}

function sliderField({ id, label, help, range, value, set }: SliderField): TemplateResult {
  return html`
    <div class="field slider">
      <label for=${id}>${label}</label>
      <output for=${id}>${value}</output>
      <input
        id=${id}
        type="range"
        min=${range.min}
        max=${range.max}
        step=${range.step}
        aria-describedby="${id}-help"
        .value=${String(value)}
        @input=${(event: Event) => set((event.target as HTMLInputElement).valueAsNumber)}
      />
      <p id="${id}-help">${help}</p>
    </div>
  `;
}

interface NumberField {
  id: string;
  label: string;
  help: string;
  limits: { min: number; step: number };
  value: number | undefined;
  set: (value: number | undefined) => void;
}

function numberField({ id, label, help, limits, value, set }: NumberField): TemplateResult {
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <input
        id=${id}
        type="number"
        min=${limits.min}
        step=${limits.step}
        aria-describedby="${id}-help"
        .value=${String(value ?? "")}
        @change=${(event: Event) => {
          const typed = (event.target as HTMLInputElement).valueAsNumber;
          set(Number.isNaN(typed) ? undefined : typed);
        }}
      />
      <p id="${id}-help">${help}</p>
    </div>
  `;
}

interface SelectField {
  id: string;
  label: string;
  help: string;
  options: [value: string, label: string][];
  value: string | undefined;
}

function selectField({ id, label, help, options, value }: SelectField): TemplateResult {
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <select id=${id} name=${id} aria-describedby="${id}-help">
        ${options.map(
          ([option, text]) => html`<option value=${option} ?selected=${option === (value ?? "")}>${text}</option>`,
        )}
      </select>
      <p id="${id}-help">${help}</p>
    </div>
  `;
}
