/** Fields of a form, each with a label and a sentence of help that belongs to it. */
import { html, nothing, type TemplateResult } from "lit";

interface Field {
  id: string;
  label: string;
  help: string;
}

export interface SliderField extends Field {
  range: { min: number; max: number; step: number };
  value: number;
  set: (value: number) => void;
}

export function sliderField({ id, label, help, range, value, set }: SliderField): TemplateResult {
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

export interface NumberField extends Field {
  limits: { min: number; step: number };
  value: number | undefined;
  /** Undefined where the field was emptied. */
  set?: (value: number | undefined) => void;
}

/** It has its id as its name, for a form that is read as a whole. */
export function numberField({ id, label, help, limits, value, set }: NumberField): TemplateResult {
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <input
        id=${id}
        name=${id}
        type="number"
        min=${limits.min}
        step=${limits.step}
        aria-describedby="${id}-help"
        .value=${String(value ?? "")}
        @change=${(event: Event) => {
          const typed = (event.target as HTMLInputElement).valueAsNumber;
          set?.(Number.isNaN(typed) ? undefined : typed);
        }}
      />
      <p id="${id}-help">${help}</p>
    </div>
  `;
}

export interface AreaField extends Field {
  value: string;
  set: (value: string) => void;
}

export function areaField({ id, label, help, value, set }: AreaField): TemplateResult {
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <textarea
        id=${id}
        rows="2"
        aria-describedby="${id}-help"
        .value=${value}
        @change=${(event: Event) => set((event.target as HTMLTextAreaElement).value)}
      ></textarea>
      <p id="${id}-help">${help}</p>
    </div>
  `;
}

export interface SelectField extends Field {
  options: readonly (readonly [value: string, label: string])[];
  value: string | undefined;
}

export function selectField({ id, label, help, options, value }: SelectField): TemplateResult {
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

export interface ChoiceField {
  type: "radio" | "checkbox";
  name: string;
  value?: string;
  label: string;
  note?: string;
  checked: boolean;
  set?: (checked: boolean) => void;
}

export function choiceField({ type, name, value, label, note, checked, set }: ChoiceField): TemplateResult {
  return html`
    <label class="choice">
      <input
        type=${type}
        name=${name}
        value=${value ?? "on"}
        .checked=${checked}
        @change=${(event: Event) => set?.((event.target as HTMLInputElement).checked)}
      />
      <span>${label}${note === undefined ? nothing : html`<small>${note}</small>`}</span>
    </label>
  `;
}
