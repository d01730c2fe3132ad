import { LitElement, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { WordloomError } from "../../errors";
import { sharedGenerators } from "../shared-generators";
import { formatDuration, formatTokensPerSecond } from "../word-loom/format";
import { loadKey } from "../word-loom/options";
import type { WordLoom } from "../word-loom/word-loom";
import * as words from "../words/inspector-numbers";
import { followLanguage, formatNumber } from "../words/localization";
import { compareCache, growth, type ComparedStep, type Comparison } from "./compare";
import { sharedStyles } from "./shared-styles";
import "./plot";
import { median, sampleRows } from "./series";
import { tableTemplate } from "./table";

const COUNTS = [16, 32, 64, 128] as const;
const TABLE_ROWS = 40;

type Phase =
  { kind: "idle" } | { kind: "measuring"; abort: AbortController; of: number } | { kind: "failed"; message: string };

/** The same prompt written on with and without the KV cache, measured here: `compare.ts` says how. */
@customElement("wordloom-cache-compare")
export class WordloomCacheCompare extends LitElement {
  static override styles = sharedStyles;

  @property({ attribute: false }) loom: WordLoom | undefined;
  /** Whether a model on this device could measure now. */
  @property({ attribute: false }) ready = false;
  @state() private phase: Phase = { kind: "idle" };
  @state() private comparison: Comparison | undefined;
  @state() private wasStopped = false;
  @state() private count: number = 32;

  constructor() {
    super();
    followLanguage(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#stop();
  }

  #stop = (): void => {
    if (this.phase.kind === "measuring") this.phase.abort.abort();
  };

  #start = async (): Promise<void> => {
    const { loom } = this;
    if (!loom || this.phase.kind === "measuring") return;
    const abort = new AbortController();
    this.comparison = undefined;
    this.wasStopped = false;
    this.phase = { kind: "measuring", abort, of: this.count };
    try {
      await this.#measure(loom, abort.signal);
      this.phase = { kind: "idle" };
    } catch (error) {
      if (abort.signal.aborted) {
        this.wasStopped = true;
        this.phase = { kind: "idle" };
      } else this.phase = { kind: "failed", message: WordloomError.from(error).message };
    }
  };

  async #measure(loom: WordLoom, signal: AbortSignal): Promise<void> {
    // The model that the text is written with; it stays loaded while this measures, whatever the element does.
    const lease = await sharedGenerators.acquire(loadKey(loom), () => Promise.reject(notLoaded()), {
      signal,
      onProgress: () => undefined,
    });
    try {
      const prompt = await lease.generator.tokenize(loom.prompt);
      const room = (lease.generator.info.contextLength ?? Infinity) - prompt.length;
      if (room < 2 || prompt.length === 0) {
        throw new WordloomError("prompt-too-long", words.compareNoRoom(prompt.length, prompt.length + room));
      }
      const count = Math.min(this.count, room);
      if (this.phase.kind === "measuring") this.phase = { ...this.phase, of: count };
      const show = (comparison: Comparison) => (this.comparison = comparison);
      this.comparison = await compareCache(lease.generator, prompt, count, signal, show);
    } finally {
      lease.release();
    }
  }

  override render() {
    const { phase } = this;
    const isMeasuring = phase.kind === "measuring";
    return html`
      <section aria-labelledby="compare-title">
        <h3 id="compare-title">${words.compare()}</h3>
        <p class="note">${words.compareHelp()}</p>
        <div class="controls">
          <label for="count">${words.compareCount()}</label>
          <select
            id="count"
            ?disabled=${isMeasuring}
            @change=${(event: Event) => (this.count = Number((event.target as HTMLSelectElement).value))}
          >
            ${COUNTS.map((count) => html`<option value=${count} ?selected=${count === this.count}>${count}</option>`)}
          </select>
          ${
            isMeasuring
              ? html`<button type="button" @click=${this.#stop}>${words.compareStop()}</button>`
              : html`<button type="button" ?disabled=${!this.ready} @click=${this.#start}>
                  ${words.compareStart()}
                </button>`
          }
          ${
            isMeasuring
              ? html`<span>${words.compareProgress(this.comparison?.steps.length ?? 0, phase.of)}</span>`
              : nothing
          }
        </div>
        ${!this.ready && !isMeasuring ? html`<p class="note">${words.compareNeeds()}</p>` : nothing}
        <div role="status">
          ${phase.kind === "failed" ? html`<p>${words.compareFailed(phase.message)}</p>` : nothing}
          ${this.wasStopped ? html`<p>${words.compareStopped()}</p>` : nothing}
          ${this.comparison?.endedBy === "differing" ? html`<p>${words.compareDiffering()}</p>` : nothing}
          ${this.comparison && !isMeasuring ? this.#resultTemplate(this.comparison.steps) : nothing}
        </div>
        ${this.comparison && this.comparison.steps.length > 0 ? this.#chartsTemplate(this.comparison.steps) : nothing}
        <details>
          <summary>${words.compareHow()}</summary>
          <p class="note">${words.compareHowText()}</p>
        </details>
      </section>
    `;
  }

  #resultTemplate(steps: readonly ComparedStep[]) {
    if (steps.length === 0) return nothing;
    const without = steps.reduce((sum, { withoutMs }) => sum + withoutMs, 0);
    const withCache = steps.reduce((sum, { withMs }) => sum + withMs, 0);
    const slope = (pick: (step: ComparedStep) => number) =>
      formatSlope(growth(steps.map((step) => ({ length: step.length, ms: pick(step) }))));
    const read = median(steps.map(({ length, withoutMs }) => (1000 * length) / withoutMs));
    const written = 1000 / median(steps.map(({ withMs }) => withMs));
    const readsFaster = read > 1.2 * written; // else there is nothing to explain
    const factor = formatNumber(without / withCache, 1);
    return html`
      <p>
        <strong
          >${words.compareResult(steps.length, formatDuration(without), formatDuration(withCache), factor)}</strong
        >
      </p>
      ${
        steps.length >= 8
          ? html`${readsFaster ? html`<p>${words.compareRates(formatTokensPerSecond(read), formatTokensPerSecond(written))}</p>` : nothing}
              <p>
                ${words.compareGrowth(
                  slope(({ withoutMs }) => withoutMs),
                  slope(({ withMs }) => withMs),
                )}
              </p>`
          : nothing
      }
    `;
  }

  #chartsTemplate(steps: readonly ComparedStep[]) {
    const totals = { without: 0, with: 0 };
    const rows = steps.map((step) => {
      totals.without += step.withoutMs;
      totals.with += step.withMs;
      return { ...step, totalWithout: totals.without / 1000, totalWith: totals.with / 1000 };
    });
    const x = rows.map(({ length }) => length);
    const plot = (summary: string, without: number[], withCache: number[]) => html`
      <figure>
        <figcaption>${summary}</figcaption>
        <wordloom-plot
          .summary=${summary}
          .xLabel=${words.before()}
          .x=${x}
          .lines=${[
            { label: words.without(), values: without, look: "solid" },
            { label: words.withCache(), values: withCache, look: "dashed" },
          ]}
        ></wordloom-plot>
      </figure>
    `;
    return html`
      ${plot(
        words.chartEach(),
        rows.map(({ withoutMs }) => withoutMs),
        rows.map(({ withMs }) => withMs),
      )}
      ${plot(
        words.chartTotal(),
        rows.map(({ totalWithout }) => totalWithout),
        rows.map(({ totalWith }) => totalWith),
      )}
      ${tableTemplate(
        [words.before(), words.without(), words.withCache()],
        sampleRows(rows.length, TABLE_ROWS).flatMap((index) => {
          const row = rows[index];
          return row ? [[String(row.length), formatDuration(row.withoutMs), formatDuration(row.withMs)]] : [];
        }),
        rows.length,
      )}
    `;
  }
}

/** Milliseconds for each token more; slopes are small, and may be negative by chance. */
function formatSlope(ms: number): string {
  return `${formatNumber(ms, 2).replace("-", "−")}\u00a0ms`;
}

function notLoaded(): WordloomError {
  return new WordloomError("internal", "the element says that a model is ready, but none is loaded");
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-cache-compare": WordloomCacheCompare;
  }
}
