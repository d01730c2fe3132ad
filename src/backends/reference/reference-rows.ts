/** Several answers to one prompt on the reference backend: each row of a step is computed for itself. */
import { WordloomError } from "../../errors";
import type { DecoderProgram } from "../../models/operations";
import type { BeginRowsOptions, StepResult } from "../backend";
import { slotOf, slotsTaken } from "../row-slots";
import type { Interpreter } from "./interpreter";
import { chooseToken } from "./sampling";

interface Row {
  seed: BeginRowsOptions["seeds"][number];
  answerTokens: number[];
  last: StepResult | undefined;
  /** Ended by the caller. */
  isEnded: boolean;
}

export class ReferenceRows {
  readonly #rows: Row[];

  constructor(
    private readonly interpreter: Interpreter,
    private readonly program: DecoderProgram,
    private readonly options: BeginRowsOptions,
    contextLength: number,
  ) {
    const { seeds, promptTokens, maxNewTokens } = options;
    const shared = { promptLength: promptTokens.length, rows: seeds.length };
    if (slotsTaken(shared, maxNewTokens) > contextLength) {
      throw new WordloomError("internal", `${seeds.length} answers of ${maxNewTokens} tokens are too many`);
    }
    this.#rows = seeds.map((seed) => ({ seed, answerTokens: [], last: undefined, isEnded: false }));
  }

  /** @param x [hiddenSize] of the prompt's last token */
  first(x: Float64Array): StepResult[] {
    const logits = this.#logits(x);
    return this.#rows.map((row) => this.#choose(row, logits));
  }

  step(): StepResult[] {
    const { promptTokens } = this.options;
    const shared = { promptLength: promptTokens.length, rows: this.#rows.length };
    return this.#rows.map((row, index) => {
      const { last, isEnded, answerTokens } = row;
      if (last === undefined) throw new WordloomError("internal", "a step before the first tokens of several answers");
      if (last.done || isEnded) return last;
      const position = promptTokens.length + answerTokens.length - 1;
      const slots = (at: number) => slotOf(index, at, shared);
      const x = this.interpreter.runBody(this.program.body, Uint32Array.of(last.id), position, slots);
      return this.#choose(row, this.#logits(x));
    });
  }

  end(index: number): void {
    const row = this.#rows[index];
    if (row) row.isEnded = true;
  }

  #logits(x: Float64Array): Float32Array {
    return Float32Array.from(this.interpreter.runHead(this.program.head, x));
  }

  #choose(row: Row, logits: Float32Array): StepResult {
    const { sampling, promptTokens, endTokenIds, maxNewTokens } = this.options;
    const { answerTokens, seed } = row;
    const position = promptTokens.length + answerTokens.length;
    const context = { endTokenIds, allowed: undefined, changed: logits };
    const choice = chooseToken(logits, { ...sampling, seed }, promptTokens, answerTokens, position, context);
    answerTokens.push(choice.id);
    const count = answerTokens.length;
    return (row.last = { ...choice, count, done: endTokenIds.includes(choice.id) || count >= maxNewTokens });
  }
}
