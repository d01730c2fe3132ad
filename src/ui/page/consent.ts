/** Before a model is fetched: whose it is, and, if asked, what it would take of this device. */
import { html, nothing, type TemplateResult } from "lit";
import { TextGenerator } from "../../api/text-generator";
import { WordloomError } from "../../errors";
import { headline } from "../word-loom/failure";
import { formatBytes, formatCount, modelName } from "../word-loom/format";
import { BUNDLED_MODEL, planOptions, type LoadSettings, type ModelSource } from "../word-loom/options";
import * as words from "../words/page";

type Plan = Awaited<ReturnType<typeof TextGenerator.plan>>;
export type Suggestion = Plan["suggestions"][number];

/** What is known of the plan. */
export type Planning =
  { kind: "unasked" } | { kind: "asking" } | { kind: "known"; plan: Plan } | { kind: "failed"; error: WordloomError };

/** Reads the model's config and its weights' headers, a few kB, from wherever it is. */
export async function askForPlan(load: LoadSettings): Promise<Planning> {
  try {
    return { kind: "known", plan: await TextGenerator.plan(load.model ?? BUNDLED_MODEL, planOptions(load)) };
  } catch (error) {
    return { kind: "failed", error: WordloomError.from(error) };
  }
}

/** As it has to be loaded to fit. */
export function withSuggestion(load: LoadSettings, suggestion: Suggestion | undefined): LoadSettings {
  if (!suggestion) return load;
  const { dtype, contextLength } = suggestion;
  return { ...load, dtype, contextLength };
}

export function exceeds(planning: Planning): boolean {
  return planning.kind === "known" && planning.plan.verdict === "exceeds";
}

export interface ConsentActions {
  ask: () => void;
  /** Fetches the model; with a suggestion, held that way. */
  agree: (suggestion?: Suggestion) => void;
}

export function consentTemplate(
  { model, host, planning, run }: { model: ModelSource; host: string | undefined; planning: Planning; run: boolean },
  { ask, agree }: ConsentActions,
): TemplateResult {
  return html`
    <div class="intro">
      <p>${words.addressAsksFor(modelName(model), host ?? "")}</p>
      <div class="plan" aria-live="polite">${planTemplate(planning, agree)}</div>
      <p class="choices">
        ${
          exceeds(planning)
            ? nothing
            : html`<button type="button" @click=${() => agree()}>
                ${run ? words.loadAndWrite() : words.loadIt()}
              </button>`
        }
        ${
          planning.kind === "unasked"
            ? html`<button type="button" class="quiet" @click=${ask}>${words.whatWouldItTake()}</button>`
            : nothing
        }
      </p>
    </div>
  `;
}

export function planTemplate(planning: Planning, agree: ConsentActions["agree"]): TemplateResult | typeof nothing {
  switch (planning.kind) {
    case "unasked":
      return nothing;
    case "asking":
      return html`<p>${words.readingSettings()}</p>`;
    case "failed": {
      const { code, message, remedy } = planning.error;
      return html`<p><b>${headline(code)}</b> ${message}. ${remedy}</p>`;
    }
    case "known":
      return knownTemplate(planning.plan, agree);
  }
}

function knownTemplate(plan: Plan, agree: ConsentActions["agree"]): TemplateResult {
  const { bytes, contextLength, dtype, downloadBytes, kvBytesPerToken, parameterCount, reasons, suggestions } = plan;
  const [first] = suggestions;
  const how = first && first.dtype !== "auto" && first.dtype !== dtype ? words.fitsAs(first.dtype) : undefined;
  return html`
    <p>
      ${words.planOf(formatCount(parameterCount), formatBytes(downloadBytes), dtype, contextLength)}
      <b>${formatBytes(bytes.total)}</b>,
      ${words.planParts(
        formatBytes(bytes.weights),
        formatBytes(bytes.kvCache),
        formatBytes(kvBytesPerToken),
        formatBytes(bytes.activations),
      )}
    </p>
    ${
      plan.verdict === "fits"
        ? html`<p class="verdict">${words.fits()}</p>`
        : html`
            <p class="verdict"><b>${words.doesNotFit()}</b> ${reasons[0]}.</p>
            ${first ? html`<p class="verdict">${how ?? words.fitsShorter(first.contextLength)}</p>` : nothing}
            ${suggestions.map(
              (each) => html`
                <button type="button" @click=${() => agree(each)}>
                  ${words.loadAs(
                    each.dtype === "auto" ? dtype : each.dtype,
                    each.contextLength,
                    formatBytes(each.totalBytes),
                  )}
                </button>
              `,
            )}
            ${suggestions.length === 0 ? html`<p>${words.chooseSmaller()}</p>` : nothing}
          `
    }
  `;
}
