/** What `speculative` may be: how tokens are guessed ahead. */

import type { SpeculationSettings } from "../engine/speculation";
import { given, invalid, oneOf, refuseUnknown, whole } from "./option-checks";
import { conflict } from "./token-options";

/**
 * Guesses the next tokens, and lets the model check them all in one pass; see `GenerateOptions.speculative`.
 *
 * - `prompt-lookup`: what followed the last tokens where they stood before, in prompt or answer. Costs next to nothing.
 * - `draft-model`: what a smaller model writes, `draftModel` of `load`
 */
export type SpeculativeOptions =
  | {
      method: "prompt-lookup";
      /** Tokens guessed at most for one pass, 1 to 15; default 7. */
      draftTokens?: number;
      /** Last tokens that must have stood there before, at least; 1 to `maxNgram`, default 2. */
      minNgram?: number;
      /** Last tokens that are compared, at most: where more are equal, the guess is better. 1 or more; default 4. */
      maxNgram?: number;
    }
  | {
      method: "draft-model";
      /** Tokens guessed for one pass, 1 to 15; default 4. */
      draftTokens?: number;
    };

/** As many as a backend verifies at once. */
const MAX_DRAFT_TOKENS = 15;
const METHODS = ["prompt-lookup", "draft-model"] as const;
/** Seven and the token before them are 256 bytes of reports; each draft of a model costs a step of it. */
const DRAFT_TOKENS = { "prompt-lookup": 7, "draft-model": 4 };
const NGRAM = { min: 2, max: 4 };

/** @throws WordloomError option-invalid */
export function resolveSpeculative(options: {
  speculative?: SpeculativeOptions;
  constraint?: unknown;
  logitsProcessor?: unknown;
}): SpeculationSettings | undefined {
  const value: unknown = options.speculative;
  if (!given(value)) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw invalid("speculative", value, "{ method, … }");
  for (const name of ["constraint", "logitsProcessor"] as const) {
    if (given(options[name])) {
      throw conflict(`speculative and ${name} are given: each token of a ${name} waits for the one before`);
    }
  }
  const own = value as { method?: unknown; draftTokens?: number; minNgram?: number; maxNgram?: number };
  if (!given(own.method))
    throw invalid("speculative.method", own.method, METHODS.map((one) => `"${one}"`).join(" or "));
  const method = oneOf(own, "method", METHODS, "prompt-lookup");
  const draftTokens = whole(own, "draftTokens", DRAFT_TOKENS[method], { min: 1, max: MAX_DRAFT_TOKENS });
  if (method === "draft-model") {
    refuseUnknown(own, { method: true, draftTokens: true }, 'speculative of "draft-model"');
    return { method, draftTokens };
  }
  refuseUnknown(own, { method: true, draftTokens: true, minNgram: true, maxNgram: true }, "speculative");
  const maxNgram = whole(own, "maxNgram", Math.max(NGRAM.max, given(own.minNgram) ? own.minNgram : 1), {
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
  });
  const minNgram = whole(own, "minNgram", Math.min(NGRAM.min, maxNgram), { min: 1, max: maxNgram });
  return { method, draftTokens, minNgram, maxNgram };
}
