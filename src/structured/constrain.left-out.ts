import { WordloomError } from "../errors";

/**
 * In the place of `constrain.ts` in `dist-lib/word-loom.js`: the element has no constraints, and one file that held
 * xgrammar for them would be four times as large.
 */
export class Constrainer {
  constructor() {
    throw new WordloomError("option-invalid", "word-loom.js has no structured output", {
      remedy: 'Import TextGenerator from "wordloom", which loads what constraints need when one is asked for.',
    });
  }
}
