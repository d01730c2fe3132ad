/** Which of several continuations a model finds likeliest. Pure: token ids and log-probabilities in, a ranking out. */
import { WordloomError } from "../errors";

export interface ScoredCandidate {
  /** Its place in the caller's list. */
  index: number;
  text: string;
  /** Natural log of the model's probability that the prompt goes on with exactly this. */
  logprob: number;
  /** Tokens that `logprob` is the sum over. */
  tokenCount: number;
  /** Its share among the candidates alone: they sum to 1. */
  probability: number;
}

export interface Choice {
  /** The likeliest one's place in the caller's list, and its text. */
  index: number;
  text: string;
  /** Likeliest first; of equal ones the one that was named first. */
  candidates: ScoredCandidate[];
}

/**
 * Where the candidates' own tokens begin: the tokens that the prompt and all whole texts have in common.
 *
 * The prompt's last tokens may be others once a candidate follows ("t" and "he" become "the"). They are then scored
 * with the candidate, for every candidate alike, so that the ranking is that of the whole texts' probabilities.
 *
 * @param wholes tokens of prompt and candidate together, one for each candidate
 */
export function commonLength(prompt: Uint32Array, wholes: readonly Uint32Array[]): number {
  let length = prompt.length;
  for (const whole of wholes) {
    let same = 0;
    while (same < Math.min(length, whole.length) && whole[same] === prompt[same]) same++;
    length = same;
  }
  return length;
}

/** @param scored log-probabilities of each candidate's own tokens, in the caller's order */
export function rank(texts: readonly string[], scored: readonly Float32Array[]): Choice {
  const sums = scored.map((logprobs) => logprobs.reduce((sum, logprob) => sum + logprob, 0));
  const largest = Math.max(...sums);
  const total = sums.reduce((sum, logprob) => sum + Math.exp(logprob - largest), 0);
  const candidates = texts.map((text, index) => {
    const logprob = sums[index] ?? -Infinity;
    const probability = Math.exp(logprob - largest) / total;
    return { index, text, logprob, tokenCount: scored[index]?.length ?? 0, probability };
  });
  candidates.sort((a, b) => b.logprob - a.logprob || a.index - b.index);
  const [best] = candidates;
  if (best === undefined) throw new WordloomError("internal", "a choice between no candidates");
  return { index: best.index, text: best.text, candidates };
}
