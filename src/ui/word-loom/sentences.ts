/** Whole sentences from a stream of text: what a screen reader is given, and what appears with reduced motion. */

const segmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });

/** A sentence longer than this is cut at a blank: some texts have no end of a sentence anywhere. */
const LONGEST_SENTENCE = 500;

/**
 * @param pending text that has not been handed on yet
 * @returns `whole`: all sentences that are certainly over; `rest`: the one still being written, up to some 500 characters.
 *   `whole + rest === pending`.
 */
export function takeSentences(pending: string): { whole: string; rest: string } {
  let lastStart = 0;
  for (const { index } of segmenter.segment(pending)) lastStart = index;
  if (pending.length - lastStart > LONGEST_SENTENCE) lastStart = pending.lastIndexOf(" ") + 1 || pending.length;
  return { whole: pending.slice(0, lastStart), rest: pending.slice(lastStart) };
}
