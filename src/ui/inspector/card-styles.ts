import { css } from "lit";

/** Of the card that shows one token. */
export const cardStyles = css`
  /* Beside the text where there is room, else a sheet from below. */
  .card {
    position: fixed;
    z-index: 3;
    box-sizing: border-box;
    overflow: auto;
    overscroll-behavior: contain;
    background: var(--paper);
    scrollbar-width: thin;
  }

  .card[data-place="start"],
  .card[data-place="end"] {
    inset-block: 4.5rem 1rem;
    inline-size: var(--room);
    padding: 0.5rem 1rem;
  }

  .card[data-place="start"] {
    left: 0;
  }

  .card[data-place="end"] {
    right: 0;
  }

  .card[data-place="sheet"] {
    inset: auto 0 0;
    max-block-size: min(55dvh, 32rem);
    padding: 0.75rem max(1rem, env(safe-area-inset-left)) calc(0.75rem + env(safe-area-inset-bottom));
    border-block-start: 1px solid var(--field-line);
    box-shadow: 0 -0.5rem 1.5rem color-mix(in srgb, black 12%, transparent);
  }

  .card-head {
    display: flex;
    align-items: center;
    justify-content: space-between;
    min-block-size: 2rem;
  }

  .card-head h3 {
    margin: 0;
  }

  .close {
    min-block-size: 2rem;
    min-inline-size: 2rem;
    padding: 0;
    border-color: transparent;
    font-size: 1.25rem;
    line-height: 1;
  }

  .strip {
    display: flex;
    gap: 2px;
    margin-block: 0.25rem 0.5rem;
    padding-block: 3px;
    overflow-x: auto;
    scrollbar-width: none;
  }

  .strip span,
  .piece {
    flex: none;
    padding: 0.1rem 0.25rem;
    border: 1px solid var(--line);
    border-radius: 3px;
    font-family: ui-monospace, "Cascadia Mono", "Liberation Mono", monospace;
    font-size: 0.8125rem;
    white-space: pre;
    unicode-bidi: isolate;
  }

  .strip span {
    min-inline-size: 1.5rem;
    min-block-size: 1.5rem;
    box-sizing: border-box;
    text-align: center;
    cursor: pointer;
  }

  .strip [aria-selected="true"] {
    border-color: var(--accent);
    background: var(--accent);
    color: var(--paper);
  }

  .facts {
    display: flex;
    flex-wrap: wrap;
    gap: 0.1rem 1.25rem;
    margin: 0;
  }

  .facts div {
    display: flex;
    gap: 0.4rem;
  }

  .card:not([data-place="sheet"]) .facts {
    display: block;
  }

  .card:not([data-place="sheet"]) .facts div {
    justify-content: space-between;
  }

  dt {
    color: var(--muted);
  }

  dd {
    margin: 0;
  }

  .alternatives {
    margin: 0.35rem 0;
    padding: 0;
    list-style: none;
  }

  .row {
    position: relative;
    display: grid;
    grid-template-columns: minmax(4.5rem, 6.5rem) minmax(1.25rem, 1fr) 3.1rem 5.3rem;
    align-items: center;
    gap: 0.35rem;
    box-sizing: border-box;
    inline-size: 100%;
    min-block-size: 1.75rem;
    padding: 0.1rem 0.25rem;
    border: 1px solid transparent;
    border-radius: 4px;
    text-align: start;
    font-size: 0.8125rem;
  }

  .row .piece {
    justify-self: start;
    max-inline-size: 100%;
    box-sizing: border-box;
    overflow: hidden;
    text-overflow: ellipsis;
  }

  .row .plain {
    padding-inline: 0;
    border-color: transparent;
    font-family: inherit;
    white-space: normal;
  }

  .row.written {
    font-weight: 600;
  }

  .row.struck .piece,
  .row.struck .after {
    text-decoration: line-through;
  }

  .row.struck .piece {
    color: var(--muted);
  }

  .share {
    text-align: end;
    white-space: nowrap;
  }

  .share:not(.after) {
    color: var(--muted);
  }

  .bar {
    position: relative;
    block-size: 0.75rem;
  }

  .bar span {
    position: absolute;
    inset-block: 0;
    inset-inline-start: 0;
    box-sizing: border-box;
    min-inline-size: 1px;
    border-radius: 1px;
  }

  .bar .final {
    background: color-mix(in srgb, var(--accent) 45%, var(--paper));
  }

  .bar .base {
    border: 1px solid var(--accent);
  }

  .struck .bar .final {
    display: none;
  }

  .struck .bar .base {
    border-style: dashed;
    border-color: var(--muted);
    background: repeating-linear-gradient(
      135deg,
      transparent 0 3px,
      color-mix(in srgb, var(--muted) 45%, transparent) 3px 4px
    );
  }

  .cut-line {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    margin-block: 0.2rem;
    color: var(--muted);
    font-size: 0.75rem;
  }

  .cut-line::before,
  .cut-line::after {
    content: "";
    flex: 1;
    border-block-start: 1px dashed var(--muted);
  }

  @media (forced-colors: active) {
    .bar .final {
      background: CanvasText;
      forced-color-adjust: none;
    }

    .strip [aria-selected="true"] {
      border: 2px solid Highlight;
    }
  }
`;
