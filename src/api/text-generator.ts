import type { EngineInfo, Engine, Score } from "../engine/engine";
import type { ModelSource } from "../engine/load-model";
import { WordloomError } from "../errors";
import { connectEngine } from "../worker/client";
import { resolveGenerateOptions, type GenerateOptions } from "./generate-options";
import { GenerationRun } from "./generation-run";
import { checkIds, tagInput, type ModelInput } from "./model-input";
import { flag, given, invalid, refuseUnknown } from "./option-checks";
import { currentBaseUrl, resolveLoadOptions, type LoadOptions } from "./options";

/**
 * A loaded model that writes text. One model, one KV cache: answers and scores that overlap wait their turn.
 *
 * Every refusal and failure is a WordloomError; an abort by the caller's own signal rejects with `signal.reason`.
 */
export class TextGenerator {
  readonly #engine: Engine;
  #disposed = false;

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * @param source URL or path of a model folder, of a .gguf file, or "hf:org/name[@revision][/file.gguf]"; in Node also
   *   a local path; or File objects, or a directory handle
   * @throws WordloomError for what cannot be loaded; `signal.reason` on abort
   */
  static async load(source: ModelSource, options: LoadOptions = {}): Promise<TextGenerator> {
    const { request, connect } = resolveLoadOptions(source, options, currentBaseUrl());
    connect.signal.throwIfAborted();
    return new TextGenerator(await connectEngine(request, connect));
  }

  /** What was loaded, how it is held, where it runs, and why. */
  get info(): EngineInfo {
    return this.#engine.info;
  }

  /**
   * Starts to write at once; nothing need be read for it to go on. What is wrong with the input or an option is thrown
   * by the run's iteration, `text()` and `end`.
   *
   * @param input a string (continued as it is, with the special tokens that the tokenizer itself adds), token ids (taken
   *   exactly), or chat messages (through the model's chat template)
   */
  generate(input: ModelInput, options: GenerateOptions = {}): GenerationRun {
    return new GenerationRun(given(options.signal) ? options.signal : undefined, (onChunk, signal) => {
      this.#assertAlive();
      const { vocabSize } = this.info;
      const settings = resolveGenerateOptions(options, vocabSize);
      const request = { ...settings, input: tagInput(input, vocabSize) };
      return { seed: settings.seed, end: this.#engine.generate(request, onChunk, signal) };
    });
  }

  /**
   * The model's own log-probability of each token of `input` (temperature 1, no processors).
   *
   * @throws WordloomError prompt-too-long, option-invalid, disposed; `signal.reason` on abort
   */
  async score(input: ModelInput, options: { signal?: AbortSignal } = {}): Promise<Score> {
    this.#assertAlive();
    refuseUnknown(options, { signal: true }, "score");
    if (given(options.signal) && !(options.signal instanceof AbortSignal)) {
      throw invalid("signal", options.signal, "an AbortSignal");
    }
    const signal = options.signal ?? new AbortController().signal;
    const score = await this.#engine.score(tagInput(input, this.info.vocabSize), signal);
    signal.throwIfAborted();
    if (!score) throw new WordloomError("internal", "a score was stopped without a stop");
    return score;
  }

  /** @param options.addSpecialTokens also those the tokenizer itself adds, as for a prompt; default true */
  async tokenize(text: string, options: { addSpecialTokens?: boolean } = {}): Promise<number[]> {
    this.#assertAlive();
    refuseUnknown(options, { addSpecialTokens: true }, "tokenize");
    if (typeof text !== "string") throw invalid("text", text, "a string");
    return this.#engine.tokenize(text, { addSpecialTokens: flag(options, "addSpecialTokens", true) });
  }

  /** Ids → text; special tokens give none. */
  async detokenize(ids: readonly number[] | Uint32Array): Promise<string> {
    this.#assertAlive();
    return ids.length === 0 ? "" : this.#engine.detokenize(checkIds(ids, this.info.vocabSize));
  }

  /** Frees everything; what is pending or comes later is refused with `disposed`. Twice is once. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#engine.dispose();
  }

  #assertAlive(): void {
    if (this.#disposed) throw new WordloomError("disposed", "this generator was disposed of");
  }
}
