/**
 * Where the KV cache keeps the positions of several answers to one prompt: the prompt's once, as always, and behind them
 * those of the answers in turns, so that n answers of t tokens take the positions of one with n · t.
 */

export interface SharedPrompt {
  /** Positions that all have in common. */
  promptLength: number;
  /** Answers. */
  rows: number;
}

export function slotOf(row: number, position: number, { promptLength, rows }: SharedPrompt): number {
  if (position < promptLength) return position;
  return promptLength + (position - promptLength) * rows + row;
}

/** Positions that are taken where each answer may have `maxNewTokens`: the last token of an answer is never run. */
export function slotsTaken({ promptLength, rows }: SharedPrompt, maxNewTokens: number): number {
  return promptLength + rows * (maxNewTokens - 1);
}
