/** The parts of the inspector about the whole text: numbers token by token, the KV cache, reading and writing. */
import { html, nothing, svg, type TemplateResult } from "lit";
import type { AnyInfo, GenerationEnd } from "../generator";
import { formatBytes, formatDuration, formatTokensPerSecond } from "../word-loom/format";
import type { WrittenToken } from "../word-loom/written-token";
import * as tokenWords from "../words/inspector";
import * as words from "../words/inspector-numbers";
import { formatNumber } from "../words/localization";
import { cacheCost, otherContexts } from "./cache-cost";
import { formatNats, formatShare } from "./numbers";
import "./plot";
import { median, sampleRows, seriesOf, smoothed } from "./series";
import { tableTemplate } from "./table";
import { visibleText } from "./visible-text";

const TABLE_ROWS = 40;

export function numbersTemplate(tokens: readonly WrittenToken[], pick: (index: number) => void): TemplateResult {
  const series = seriesOf(tokens);
  const count = tokens.length;
  const last = count - 1;
  const perplexity = formatNumber(series.perplexity[last] ?? NaN, 1);
  const perplexityNow = words.perplexityNow(perplexity, formatNats(series.logprob[last] ?? NaN), count);
  const timeNow = words.timeNow(
    formatDuration(median(series.elapsedMs.slice(1).filter((elapsedMs) => elapsedMs > 0))),
    formatDuration(series.elapsedMs[0] ?? NaN),
  );
  const onPick = (event: CustomEvent<number>) => pick(event.detail);
  const knowsEntropy = series.entropy.some((entropy) => entropy !== null);
  return html`
    <section aria-labelledby="numbers-title">
      <h3 id="numbers-title">${words.numbers()}</h3>
      <figure>
        <figcaption>${words.surpriseChart()}</figcaption>
        <wordloom-plot
          .summary=${`${words.surpriseChart()}. ${perplexityNow}`}
          .xLabel=${words.tokenNumber()}
          .x=${series.number}
          .lines=${[
            { label: words.surprise(), values: series.surprise, look: "dots" },
            ...(knowsEntropy ? [{ label: words.entropyLine(), values: series.entropy, look: "solid" }] : []),
          ]}
          @plot-picked=${onPick}
        ></wordloom-plot>
      </figure>
      <p class="note">${words.surpriseHelp()}</p>
      <figure>
        <figcaption>${words.perplexityChart()}</figcaption>
        <wordloom-plot
          .summary=${perplexityNow}
          .xLabel=${words.tokenNumber()}
          .x=${series.number}
          .lines=${[{ label: words.perplexity(), values: series.perplexity, look: "solid" }]}
          @plot-picked=${onPick}
        ></wordloom-plot>
      </figure>
      <p>${perplexityNow}</p>
      ${
        count > 1
          ? html`<figure>
                <figcaption>${words.timeChart()}</figcaption>
                <wordloom-plot
                  .summary=${timeNow}
                  .xLabel=${words.tokenNumber()}
                  .x=${series.number.slice(1)}
                  .lines=${[
                    { label: words.timeSmooth(), values: smoothed(series.elapsedMs.slice(1), 4), look: "solid" },
                    { label: words.time(), values: series.elapsedMs.slice(1), look: "dots" },
                  ]}
                  @plot-picked=${(event: CustomEvent<number>) => pick(event.detail + 1)}
                ></wordloom-plot>
              </figure>
              <p>${timeNow}</p>
              <p class="note">${words.timeHelp()}</p>`
          : nothing
      }
      ${tableTemplate(
        [
          words.tokenNumber(),
          words.tokenText(),
          tokenWords.probability(),
          words.surprise(),
          words.entropyLine(),
          words.logprobSum(),
          words.perplexity(),
          words.time(),
        ],
        sampleRows(count, TABLE_ROWS).map((index) => {
          const token = tokens[index];
          const entropy = series.entropy[index] ?? null;
          return [
            String(index + 1),
            token ? visibleText(token.text, token.bytes ?? undefined) : "",
            formatShare(Math.exp(-(series.surprise[index] ?? NaN))),
            formatNats(series.surprise[index] ?? NaN),
            entropy === null ? "–" : formatNats(entropy),
            formatNats(series.logprob[index] ?? NaN),
            formatNumber(series.perplexity[index] ?? NaN, 1),
            formatDuration(series.elapsedMs[index] ?? NaN),
          ];
        }),
        count,
      )}
    </section>
  `;
}

/** @param promptTokens undefined while they have not been counted */
export function cacheTemplate(
  info: AnyInfo | undefined,
  promptTokens: number | undefined,
  answerTokens: number,
): TemplateResult {
  return html`
    <section aria-labelledby="cache-title">
      <h3 id="cache-title">${words.cache()}</h3>
      <p class="note">${words.cacheHelp()}</p>
      ${
        info === undefined
          ? html`<p>${words.cacheNoModel()}</p>`
          : info.backend === "remote"
            ? html`<p>${words.cacheElsewhere()}</p>`
            : cacheNumbers(info, promptTokens ?? 0, answerTokens)
      }
    </section>
  `;
}

function cacheNumbers(info: Exclude<AnyInfo, { backend: "remote" }>, prompt: number, answer: number): TemplateResult {
  const cost = cacheCost(info);
  const { bytesPerToken, contextLength, heldBytes } = cost;
  // The last token that was written has not been read yet.
  const used = Math.min(contextLength, prompt + Math.max(0, answer - 1));
  const byFormula = bytesPerToken * contextLength;
  return html`
    <p class="sum">
      ${cost.shapes.map(
        ({ layers, heads, headSize }, index) =>
          html`${index > 0 ? "+ " : ""}${words.cacheLayers(layers, heads, headSize, cost.bytesPerNumber)}<br />`,
      )}
      <strong>${words.cachePerToken(formatBytes(bytesPerToken))}</strong><br />
      ${words.cacheHeld(contextLength, formatBytes(byFormula))}
    </p>
    ${heldBytes > 1.01 * byFormula ? html`<p class="note">${words.cacheMore(formatBytes(heldBytes))}</p>` : nothing}
    ${fillPicture(Math.min(prompt, used), used, contextLength, words.cacheFilled(used, contextLength, formatBytes(used * bytesPerToken)))}
    <p>
      ${words.cacheFilled(used, contextLength, formatBytes(used * bytesPerToken))}
      <span class="fills">
        <span><span class="swatch prompt"></span>${words.cachePrompt(Math.min(prompt, used))}</span>
        <span><span class="swatch answer"></span>${words.cacheAnswer(Math.max(0, used - prompt))}</span>
      </span>
    </p>
    <table class="small">
      <caption>
        ${words.cacheLonger()}
      </caption>
      <thead>
        <tr>
          <th scope="col">${words.positions()}</th>
          <th scope="col">${words.memory()}</th>
        </tr>
      </thead>
      <tbody>
        ${otherContexts(contextLength).map(
          (length) =>
            html`<tr>
              <td>${length}${length === contextLength ? html` <small>${words.thisModel()}</small>` : nothing}</td>
              <td>${formatBytes(length * bytesPerToken)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  `;
}

const COLUMNS = 64;
const ROWS = 8;

/** All positions as cells, row by row; each stands for one or more of them. */
function fillPicture(prompt: number, used: number, contextLength: number, label: string): TemplateResult {
  const perCell = Math.max(1, Math.ceil(contextLength / (COLUMNS * ROWS)));
  const cells = Math.ceil(contextLength / perCell);
  const rows = Math.ceil(cells / COLUMNS);
  const path = (from: number, to: number) => {
    let drawn = "";
    for (let row = 0; row < rows; row++) {
      const start = Math.max(from, row * COLUMNS);
      const end = Math.min(to, (row + 1) * COLUMNS);
      if (end > start) drawn += `M${start - row * COLUMNS} ${row}h${end - start}v1h${start - end}z`;
    }
    return drawn;
  };
  const [promptCells, usedCells] = [Math.ceil(prompt / perCell), Math.ceil(used / perCell)];
  const lines = Array.from({ length: COLUMNS - 1 }, (_, column) => `M${column + 1} 0V${rows}`).join("");
  return html`<svg
    class="cells"
    viewBox="0 0 ${COLUMNS} ${rows}"
    role="img"
    aria-label=${label}
    preserveAspectRatio="none"
  >
    ${svg`<path class="free" d=${path(0, cells)} /><path class="prompt" d=${path(0, promptCells)} />
      <path class="answer" d=${path(promptCells, usedCells)} />
      <path class="grid" d=${lines + Array.from({ length: rows - 1 }, (_, row) => `M0 ${row + 1}H${COLUMNS}`).join("")} />`}
  </svg>`;
}

/** Fewer tokens than this take about as long as one, and tell nothing about the rate. */
const TELLING_PROMPT = 8;

/** @param isFirst the run was the first one with what an inspector asks for */
export function speedsTemplate(end: GenerationEnd | undefined, isFirst: boolean): TemplateResult {
  return html`
    <section aria-labelledby="speeds-title">
      <h3 id="speeds-title">${words.speeds()}</h3>
      <p>${end ? speedsNow(end) : words.speedsLater()}</p>
      ${end && isFirst ? html`<p class="note">${words.speedsFirst()}</p>` : nothing}
      <p class="note">${words.speedsHelp()}</p>
    </section>
  `;
}

function speedsNow({ usage, timings }: GenerationEnd): string {
  const read = usage.promptTokens - usage.cachedTokens;
  if (!(read >= TELLING_PROMPT)) return words.speedsFew(read);
  if (!(timings.decodeTokensPerSecond > 0)) return words.speedsLater();
  return words.speedsNow(
    formatTokensPerSecond(timings.prefillTokensPerSecond),
    formatTokensPerSecond(timings.decodeTokensPerSecond),
  );
}
