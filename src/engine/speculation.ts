/**
 * Speculative decoding: guesses of the next tokens, which the model then checks all at once (`Backend.verify`). What it
 * would have chosen itself is what it chooses: a guess changes how long a text takes, never the text.
 *
 * Sources: Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding"; Saxena 2023, "Prompt Lookup
 * Decoding". Their rule for accepting a draft is not needed: the draw at a position depends on seed and position alone,
 * so that the token itself can be compared.
 */
import { GREEDY, type Backend, type StepResult } from "../backends/backend";
import { WordloomError } from "../errors";
import { commonPrefix, prefillChunks } from "./prefix";

/** Where drafts come from, and how many there are at most. */
export type SpeculationSettings =
  | { method: "prompt-lookup"; draftTokens: number; minNgram: number; maxNgram: number }
  | { method: "draft-model"; draftTokens: number };

/** What it came to. */
export interface Speculation {
  /** Tokens that were guessed. */
  drafted: number;
  /** Of these, as many as the model chose, too. */
  accepted: number;
  /** Passes of the model that checked drafts. Each gives one token more than it accepts. */
  verifications: number;
}

/**
 * Guesses what follows prompt and answer.
 *
 * @param tokens all there are
 * @param most at least 1
 * @returns at most `most`; none where there is nothing to go by
 */
export type Drafter = (tokens: readonly number[], most: number) => readonly number[] | Promise<readonly number[]>;

/**
 * What followed the last tokens where they occurred before: the longest n-gram decides, of equally long ones the last.
 * A repetition that reaches up to the end goes on into what is drafted.
 */
export function promptLookup({ minNgram, maxNgram }: { minNgram: number; maxNgram: number }): Drafter {
  return (tokens, most) => {
    const { length } = tokens;
    let from = -1;
    let longest = minNgram - 1;
    for (let end = length - 1; end > 0 && longest < maxNgram; end--) {
      let matched = 0;
      while (matched < maxNgram && matched < end && tokens[end - 1 - matched] === tokens[length - 1 - matched])
        matched++;
      if (matched > longest) [longest, from] = [matched, end];
    }
    if (from === -1) return [];
    const known = [...tokens.slice(from, from + most)];
    const period = length - from;
    while (known.length < most) known.push(known[known.length - period] as number); // period ≤ known.length: all were taken
    return known;
  };
}

/** A smaller model of the same vocabulary, with a cache of its own, that writes on greedily. */
export class DraftModel {
  readonly #backend: Backend;
  readonly #vocabSize: number;
  /** What its cache holds. */
  #cached: readonly number[] = [];

  /** @param vocabSize ids that the model proper knows; what lies beyond ends a draft */
  constructor(backend: Backend, vocabSize: number) {
    this.#backend = backend;
    this.#vocabSize = vocabSize;
  }

  readonly draft: Drafter = async (tokens, most) => {
    const { contextLength } = this.#backend.facts;
    const count = Math.min(most, contextLength + 1 - tokens.length);
    if (count < 1) return [];
    const all = Uint32Array.from(tokens);
    // The last token runs in any case: the first draft is chosen from its row.
    const start = Math.min(commonPrefix(this.#cached, all), all.length - 1);
    this.#cached = [];
    await this.#backend.begin({ sampling: GREEDY, promptTokens: all, endTokenIds: [], maxNewTokens: count });
    const results: Promise<StepResult>[] = [];
    const submit = (result: Promise<StepResult>) => {
      result.catch(() => undefined); // it is awaited later, in its turn; until then its failure is not unhandled
      results.push(result);
    };
    for (const chunk of prefillChunks(start, all.length, this.#backend.maxPrefillTokens)) {
      const piece = all.subarray(chunk.start, chunk.end);
      if (chunk.end < all.length) await this.#backend.prefill(piece, chunk.start, false);
      else submit(this.#backend.prefill(piece, chunk.start, true));
    }
    const ids: number[] = [];
    try {
      for (let submitted = 1; ids.length < count;) {
        for (; submitted < count && results.length <= this.#backend.runAhead; submitted++) submit(this.#backend.step());
        const result = await results.shift();
        if (result) ids.push(result.id);
      }
    } catch (error) {
      await Promise.allSettled(results); // the next draft may only begin when nothing is in flight
      throw error;
    }
    this.#cached = [...tokens, ...ids.slice(0, -1)];
    const beyond = ids.findIndex((id) => id >= this.#vocabSize);
    return beyond === -1 ? ids : ids.slice(0, beyond);
  };

  get lost(): Promise<Error> {
    return this.#backend.lost;
  }

  dispose(): Promise<void> {
    return this.#backend.dispose();
  }
}

/** The guesses of one run. */
export class Speculator {
  readonly came: Speculation = { drafted: 0, accepted: 0, verifications: 0 };
  readonly #draft: Drafter;
  readonly #draftTokens: number;
  readonly #promptLength: number;
  /** Prompt and answer. */
  readonly #tokens: number[];

  constructor(settings: SpeculationSettings, promptTokens: Uint32Array, draftModel: DraftModel | undefined) {
    if (settings.method === "prompt-lookup") this.#draft = promptLookup(settings);
    else if (draftModel) this.#draft = draftModel.draft;
    else throw new WordloomError("internal", "a draft model is wanted, and there is none");
    this.#draftTokens = settings.draftTokens;
    this.#promptLength = promptTokens.length;
    this.#tokens = Array.from(promptTokens);
  }

  /**
   * One pass of the model, with as many guesses behind the last token as there are; with none it is a plain step.
   *
   * @param sampled the answer so far, at least one token, none in flight
   * @param room tokens of the whole answer, and rows that one pass may have
   */
  async step(
    backend: Backend,
    sampled: readonly number[],
    room: { tokens: number; chunk: number },
  ): Promise<readonly StepResult[]> {
    for (let at = this.#tokens.length - this.#promptLength; at < sampled.length; at++) {
      this.#tokens.push(sampled[at] as number); // inside by the loop
    }
    const start = this.#tokens.length - 1;
    const most = Math.min(
      this.#draftTokens,
      backend.facts.contextLength - 1 - start,
      room.tokens - sampled.length - 1, // the last one needs no draft
      room.chunk - 1,
    );
    const drafts = most < 1 ? [] : await this.#draft(this.#tokens, most);
    if (drafts.length === 0) return [await backend.step()];
    const results = await backend.verify(this.#tokens[start] as number, Uint32Array.from(drafts), start); // there is a prompt
    this.came.verifications++;
    this.came.drafted += drafts.length;
    this.came.accepted += results.filter(({ id }, at) => id === drafts[at]).length;
    return results;
  }
}
