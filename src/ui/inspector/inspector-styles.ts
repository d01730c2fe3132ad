import { css, unsafeCSS } from "lit";
import { SHADE_COUNT, shadeColour } from "./shades";

const swatches = Array.from({ length: SHADE_COUNT }, (_, shade) => shade)
  .map((shade) => `.shade-${shade} { background: ${shadeColour(shade)}; --weight: ${shade}px; }`)
  .join("\n");

export const inspectorStyles = css`
  ${unsafeCSS(swatches)}

  .legend {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    margin-block: 0.75rem;
    color: var(--muted);
    font-size: 0.8125rem;
  }

  .ramp {
    display: flex;
    border: 1px solid var(--line);
    border-radius: 3px;
    overflow: hidden;
  }

  .ramp span {
    inline-size: 1.5rem;
    block-size: 0.9rem;
  }

  .sum {
    padding: 0.6rem 0.8rem;
    border-inline-start: 2px solid var(--line);
    overflow-wrap: anywhere;
  }

  .cells {
    display: block;
    inline-size: 100%;
    block-size: 6rem;
    margin-block: 0.75rem 0.25rem;
    border: 1px solid var(--line);
    border-radius: 3px;
  }

  .cells .free {
    fill: color-mix(in srgb, var(--ink) 4%, var(--paper));
  }

  .cells .prompt,
  .swatch.prompt {
    fill: color-mix(in srgb, var(--ink) 45%, var(--paper));
    background: color-mix(in srgb, var(--ink) 45%, var(--paper));
  }

  .cells .answer,
  .swatch.answer {
    fill: var(--accent);
    background: var(--accent);
  }

  .cells .grid {
    fill: none;
    stroke: var(--paper);
    stroke-width: 1px;
    vector-effect: non-scaling-stroke;
  }

  .fills {
    display: inline-flex;
    flex-wrap: wrap;
    gap: 0 1rem;
    margin-inline-start: 0.75rem;
    color: var(--muted);
  }

  .swatch {
    display: inline-block;
    inline-size: 0.75rem;
    block-size: 0.75rem;
    margin-inline-end: 0.35rem;
    border-radius: 2px;
  }

  .tree {
    margin: 0.25rem 0;
    padding: 0;
    list-style: none;
  }

  .tree li {
    padding-inline-start: calc(1.25rem * var(--depth));
  }

  .tree button,
  .tree .here {
    display: inline-block;
    min-block-size: 1.75rem;
    padding: 0.15rem 0.5rem;
    border-color: transparent;
    text-align: start;
  }

  .tree button {
    text-decoration: underline;
    text-underline-offset: 0.2em;
  }

  @media (forced-colors: active) {
    .ramp span {
      border-block-end: var(--weight) solid CanvasText;
    }

    .cells {
      forced-color-adjust: none;
    }
  }
`;
