import { css } from "lit";

/** Colours follow the page's `color-scheme`. Text and controls keep a contrast of at least 4.5 to 1 in both themes. */
export const styles = css`
  :host {
    --accent: var(--word-loom-accent, light-dark(#3b3f9e, #aab2ff));
    --ink: var(--word-loom-ink, light-dark(#1d1d21, #e4e3e0));
    --muted: var(--word-loom-muted, light-dark(#62626c, #9b9ba6));
    --paper: var(--word-loom-paper, light-dark(#fdfdfc, #141519));
    --line: color-mix(in srgb, var(--ink) 16%, transparent);
    --text-font: var(
      --word-loom-text-font,
      ui-serif,
      "Iowan Old Style",
      Charter,
      "Source Serif 4",
      Georgia,
      Cambria,
      "Liberation Serif",
      serif
    );

    display: flex;
    flex-direction: column;
    align-items: stretch;
    gap: 1.25rem;
    max-inline-size: 66ch;
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

  :host([drop-target]) {
    outline: 2px dashed var(--accent);
    outline-offset: 0.75rem;
  }

  :host([hidden]),
  [hidden] {
    display: none;
  }

  .flow {
    font: 1.3125rem/1.65 var(--text-font);
    font-variant-numeric: normal;
    text-align: start;
    overflow-wrap: anywhere;
    hanging-punctuation: first;
    cursor: text;
  }

  #prompt,
  #output {
    white-space: pre-wrap;
  }

  #prompt {
    color: var(--accent);
    caret-color: var(--accent);
    border-radius: 2px;
    outline: none;
  }

  #prompt:empty {
    display: inline-block;
    inline-size: min(22em, 100%);
    border-block-end: 1px solid color-mix(in srgb, var(--accent) 60%, transparent);
    border-radius: 0;
  }

  #prompt:empty::before {
    content: attr(data-placeholder);
    color: var(--muted);
    font-style: italic;
  }

  #prompt:empty,
  #prompt:empty:focus-visible {
    text-decoration: none;
  }

  /* A thread under the reader's words shows where typing goes. */
  #prompt[contenteditable="plaintext-only"]:not(:empty) {
    text-decoration: underline 1px color-mix(in srgb, var(--accent) 45%, transparent);
    text-underline-offset: 0.28em;
  }

  #prompt:not(:empty):focus-visible {
    text-decoration: underline 2px var(--accent);
  }

  #prompt:empty:focus-visible {
    box-shadow: 0 1px 0 var(--accent);
    border-color: var(--accent);
  }

  /* In a long text a block holds several lines; each is a paragraph with a direction of its own. */
  .line {
    display: block;
    unicode-bidi: plaintext;
  }

  /* Written from another beginning than the one that now stands before it. */
  .stale {
    color: var(--muted);
  }

  #announcer {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }

  [part="controls"] {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.5rem;
  }

  button {
    font: inherit;
    color: var(--ink);
    background: none;
    border: 1px solid transparent;
    border-radius: 6px;
    min-block-size: 2.5rem;
    padding: 0.25rem 0.9rem;
    cursor: pointer;
    touch-action: manipulation;
  }

  [part="controls"] button:not(.primary) {
    border-color: var(--line);
  }

  button:hover {
    background: color-mix(in srgb, var(--ink) 7%, transparent);
  }

  button.primary {
    min-inline-size: 6.5rem;
    font-weight: 600;
    color: var(--paper);
    background: var(--accent);
  }

  button.primary:hover {
    background: color-mix(in srgb, var(--accent) 88%, var(--ink));
  }

  :focus-visible:not(#prompt) {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }

  .failure {
    border-inline-start: 3px solid var(--accent);
    padding-inline-start: 1rem;
    max-inline-size: 60ch;
  }

  .failure p {
    margin: 0 0 0.35rem;
    color: var(--muted);
    overflow-wrap: anywhere;
  }

  .failure .headline {
    color: var(--ink);
    font: 600 1.0625rem/1.4 var(--text-font);
  }

  .failure .remedy {
    color: var(--ink);
  }

  .failure button {
    margin-block-start: 0.5rem;
  }

  /* In the status line's place and as high as it, so that nothing moves when the model is there. */
  [part="progress"] {
    position: relative;
    box-sizing: border-box;
    min-block-size: 1.75rem;
    padding-block: 0.27rem;
    color: var(--muted);
    font-size: 0.8125rem;
  }

  progress {
    appearance: none;
    position: absolute;
    inset: auto 0 0;
    inline-size: 100%;
    block-size: 2px;
    border: 0;
    background: var(--line);
    color: var(--accent);
  }

  progress::-webkit-progress-bar {
    background: var(--line);
  }

  progress::-webkit-progress-value {
    background: var(--accent);
  }

  progress::-moz-progress-bar {
    background: var(--accent);
  }

  progress:indeterminate::-moz-progress-bar {
    background: none;
  }

  [part="status"] {
    position: relative;
    display: flex;
    flex-wrap: wrap;
    column-gap: 1.25rem;
    row-gap: 0;
    color: var(--muted);
    font-size: 0.8125rem;
  }

  .fact {
    border: 0;
    min-block-size: 1.75rem;
    padding: 0;
    border-radius: 2px;
    font: inherit;
    color: inherit;
    cursor: help;
  }

  .fact:hover,
  .fact:focus-visible {
    color: var(--ink);
    background: none;
  }

  /* One place for all explanations, under the line: none reaches beyond the column or covers the text or a button. */
  .explanation {
    position: absolute;
    inset-inline: 0;
    inset-block-start: calc(100% + 0.25rem);
    z-index: 1;
    visibility: hidden;
    max-inline-size: 52ch;
    padding: 0.6rem 0.8rem;
    border: 1px solid var(--line);
    border-radius: 6px;
    background: var(--paper);
    color: var(--ink);
  }

  .fact:hover + .explanation,
  .fact:focus + .explanation,
  .explanation:hover {
    visibility: visible;
  }

  @media (forced-colors: active) {
    #prompt {
      text-decoration-color: LinkText;
    }

    button,
    button.primary,
    [part="controls"] button:not(.primary),
    .explanation {
      border-color: ButtonText;
    }

    .fact {
      border-color: transparent;
    }

    progress {
      border: 1px solid CanvasText;
      block-size: 6px;
    }
  }
`;
