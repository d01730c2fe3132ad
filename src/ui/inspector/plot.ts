import { LitElement, css, html, nothing, unsafeCSS } from "lit";
import { customElement, property } from "lit/decorators.js";
import type uPlot from "uplot";
import uplotStyles from "uplot/dist/uPlot.min.css?inline";
import { formatNumber } from "../words/localization";

export interface PlotLine {
  label: string;
  values: readonly (number | null)[];
  /** How it differs from the others beside its colour. */
  look: "solid" | "dashed" | "dots" | "bars";
}

const HEIGHT = 150;

/**
 * Lines over one axis, drawn by uPlot, which is fetched with the first plot. What it shows stands beside it in words and
 * as a table, so for screen readers it is one picture with a summary.
 *
 * @fires plot-picked - A point was clicked; `detail`: its index.
 */
@customElement("wordloom-plot")
export class WordloomPlot extends LitElement {
  static override styles = [
    unsafeCSS(uplotStyles),
    css`
      :host {
        display: block;
      }

      #chart {
        min-block-size: ${HEIGHT}px;
        border-color: var(--line);
      }

      .key {
        display: flex;
        flex-wrap: wrap;
        gap: 0.25rem 1rem;
        margin: 0.25rem 0 0;
        padding: 0;
        list-style: none;
        color: var(--muted);
        font-size: 0.8125rem;
      }

      .key svg {
        vertical-align: middle;
        margin-inline-end: 0.35rem;
        color: var(--muted);
      }

      .key .first svg {
        color: var(--accent);
      }

      .key .reading {
        margin-inline-start: auto;
        color: var(--ink);
      }
    `,
  ];

  /** Said of the picture as a whole. */
  @property({ attribute: false }) summary = "";
  @property({ attribute: false }) x: readonly number[] = [];
  @property({ attribute: false }) xLabel = "";
  @property({ attribute: false }) lines: readonly PlotLine[] = [];

  #plot: uPlot | undefined;
  #shape = "";
  #reading = "";
  #size = new ResizeObserver(() => this.#plot?.setSize({ width: this.#chart?.clientWidth ?? 0, height: HEIGHT }));
  readonly #scheme = matchMedia("(prefers-color-scheme: dark)");

  override connectedCallback(): void {
    super.connectedCallback();
    this.#scheme.addEventListener("change", this.#redraw);
    if (this.hasUpdated) this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#scheme.removeEventListener("change", this.#redraw);
    this.#size.disconnect();
    this.#plot?.destroy();
    this.#plot = undefined;
  }

  get #chart(): HTMLElement | null {
    return this.renderRoot.querySelector("#chart");
  }

  protected override updated(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("x") || changed.has("lines") || !this.#plot) void this.#draw();
  }

  #redraw = (): void => {
    this.#plot?.destroy();
    this.#plot = undefined;
    void this.#draw();
  };

  async #draw(): Promise<void> {
    const { default: Plot } = await import("uplot");
    const chart = this.#chart;
    if (!this.isConnected || !chart) return;
    const shape = this.lines.map(({ label, look }) => `${label} ${look}`).join("|");
    const values = [this.x, ...this.lines.map((line) => line.values)] as uPlot.AlignedData; // as many x as values
    if (this.#plot && shape === this.#shape) {
      this.#plot.setData(values);
      return;
    }
    this.#plot?.destroy();
    this.#shape = shape;
    this.#plot = new Plot(this.#options(Plot, chart.clientWidth), values, chart);
    this.#size.disconnect();
    this.#size.observe(chart);
  }

  #options(Plot: typeof uPlot, width: number): uPlot.Options {
    // A canvas knows no custom properties: the colours are those of what stands beside it.
    const styleOf = (selector: string) => getComputedStyle(this.renderRoot.querySelector(selector) ?? this);
    const style = styleOf("#chart");
    const [accent, muted, line] = [styleOf(".first svg").color, styleOf(".key").color, style.borderTopColor];
    const axis = {
      stroke: muted,
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      font: `12px ${style.fontFamily}`,
    };
    const looks: Record<PlotLine["look"], Partial<uPlot.Series>> = {
      solid: { width: 2 },
      dashed: { width: 2, dash: [6, 4] },
      dots: { width: 0, paths: () => null, points: { show: true, size: 4 } },
      bars: {
        width: 0,
        fill: muted,
        points: { show: false },
        ...(Plot.paths.bars ? { paths: Plot.paths.bars({ size: [0.7, 12] }) } : {}),
      },
    };
    return {
      width,
      height: HEIGHT,
      legend: { show: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.08 : 1] } },
      axes: [
        {
          ...axis,
          size: 26,
          values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? formatNumber(tick, 0) : "")),
        },
        { ...axis, size: 48, values: (_, ticks) => ticks.map((tick) => formatNumber(tick, 3)) },
      ],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      series: [
        {},
        ...this.lines.map(({ label, look }, index): uPlot.Series => {
          const stroke = index === 0 ? accent : muted;
          const points = { show: false, ...looks[look].points, stroke, fill: stroke };
          return { label, stroke, spanGaps: true, ...looks[look], points };
        }),
      ],
      hooks: { setCursor: [(plot) => this.#read(plot.cursor.idx ?? undefined)] },
    };
  }

  #read(index: number | undefined): void {
    const values = this.lines.map(({ values }) => (index === undefined ? undefined : values[index]));
    const known = values.flatMap((value) => (value === undefined || value === null ? [] : [formatNumber(value, 2)]));
    this.#reading =
      index === undefined || known.length === 0 ? "" : `${this.xLabel} ${this.x[index] ?? ""}: ${known.join(" · ")}`;
    this.requestUpdate();
  }

  #onClick = (): void => {
    const index = this.#plot?.cursor.idx;
    if (index !== undefined && index !== null) this.dispatchEvent(new CustomEvent("plot-picked", { detail: index }));
  };

  override render() {
    return html`
      <div id="chart" role="img" aria-label=${this.summary} @click=${this.#onClick}></div>
      <ul class="key" aria-hidden="true">
        ${this.lines.map(
          ({ label, look }, index) => html`<li class=${index === 0 ? "first" : ""}>${sample(look)}${label}</li>`,
        )}
        ${this.#reading ? html`<li class="reading">${this.#reading}</li>` : nothing}
      </ul>
    `;
  }
}

/** A line as the plot draws it. */
function sample(look: PlotLine["look"]) {
  return html`<svg width="24" height="8" stroke="currentColor" fill="currentColor" aria-hidden="true">
    ${
      look === "dots" || look === "bars"
        ? html`<svg><circle cx="12" cy="4" r="2.5" stroke="none" /></svg>`
        : html`<svg><path d="M0 4H24" stroke-width="2" stroke-dasharray=${look === "dashed" ? "6 4" : "none"} /></svg>`
    }
  </svg>`;
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-plot": WordloomPlot;
  }
}
