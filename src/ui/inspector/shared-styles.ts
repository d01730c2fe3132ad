import { css } from "lit";

/** Of all parts of the inspector. Colours are the page's, as for `<word-loom>`. */
export const sharedStyles = css`
  :host {
    --accent: var(--word-loom-accent, light-dark(#3b3f9e, #aab2ff));
    --ink: var(--word-loom-ink, light-dark(#1d1d21, #e4e3e0));
    --muted: var(--word-loom-muted, light-dark(#62626c, #9b9ba6));
    --paper: var(--word-loom-paper, light-dark(#fdfdfc, #141519));
    --line: color-mix(in srgb, var(--ink) 16%, transparent);
    --field-line: color-mix(in srgb, var(--ink) 55%, transparent);

    display: block;
    color: var(--ink);
    font:
      0.875rem/1.5 system-ui,
      -apple-system,
      "Segoe UI",
      Roboto,
      "Liberation Sans",
      sans-serif;
    font-variant-numeric: tabular-nums;
  }

  .hidden {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }

  section {
    padding-block-start: 1.25rem;
    margin-block-start: 1.75rem;
    border-block-start: 1px solid var(--line);
  }

  h2,
  h3,
  h4 {
    margin: 0 0 0.35rem;
    font-size: 0.9375rem;
    font-weight: 600;
  }

  h2 {
    font-size: 1.0625rem;
  }

  h4 {
    margin-block-start: 1rem;
    font-size: 0.875rem;
  }

  p {
    margin: 0.35rem 0;
    max-inline-size: 66ch;
  }

  .note {
    color: var(--muted);
    font-size: 0.8125rem;
  }

  figure {
    margin: 1rem 0 0.25rem;
  }

  figcaption {
    font-size: 0.8125rem;
    font-weight: 600;
  }

  button,
  select {
    min-block-size: 2.25rem;
    padding: 0.25rem 0.8rem;
    border: 1px solid var(--field-line);
    border-radius: 6px;
    background: var(--paper);
    color: var(--ink);
    font: inherit;
  }

  button {
    cursor: pointer;
    touch-action: manipulation;
  }

  button:hover:enabled {
    background: color-mix(in srgb, var(--ink) 7%, var(--paper));
  }

  button:disabled {
    border-color: var(--line);
    color: var(--muted);
    cursor: default;
  }

  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }

  .controls {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.5rem 0.75rem;
    margin-block: 0.75rem;
  }

  summary {
    min-block-size: 1.75rem;
    padding-block: 0.25rem;
    color: var(--muted);
    font-size: 0.8125rem;
    cursor: pointer;
  }

  .scroll {
    max-block-size: 18rem;
    overflow: auto;
  }

  table {
    border-collapse: collapse;
    font-size: 0.8125rem;
  }

  caption {
    padding-block: 0.25rem;
    color: var(--muted);
    text-align: start;
    white-space: nowrap;
  }

  th,
  td {
    padding: 0.2rem 1.25rem 0.2rem 0;
    border-block-end: 1px solid var(--line);
    text-align: start;
    white-space: nowrap;
  }

  th {
    color: var(--muted);
    font-weight: 500;
  }

  small {
    color: var(--muted);
    font-size: inherit;
  }
`;
