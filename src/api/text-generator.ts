import type { EngineInfo, Engine, Score } from "../engine/engine";
import type { ModelSource } from "../engine/load-model";
import type { ModelPlan } from "../engine/plan-model";
import { WordloomError } from "../errors";
import type { ChatMessage } from "../tokenizer/tokenizer";
import { askToPersist } from "../storage/persist";
import { connectEngine, planHere } from "../worker/client";
import { resolveChatOptions, type ChatPromptOptions } from "./chat-options";
import { resolveGenerateOptions, type GenerateOptions } from "./generate-options";
import { GenerationRun } from "./generation-run";
import { checkIds, tagInput, type ModelInput } from "./model-input";
import { flag, given, invalid, refuseUnknown } from "./option-checks";
import { checkedProcessor } from "./logits-processor";
import { currentBaseUrl, resolveLoadOptions, resolvePlanOptions, type LoadOptions, type PlanOptions } from "./options";

export interface TokenizeOptions extends ChatPromptOptions {
  addSpecialTokens?: boolean;
}

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
   * Reads config.json, chooses the backend and how the model is held, reads the tokenizer, streams the weights, and warms
   * the kernels up.
   *
   * @param source a model folder with config.json, tokenizer.json and safetensors, or a .gguf file: its URL (relative to
   *   the page), "hf:org/name[@revision][/file.gguf]" on the Hugging Face hub, File objects of one folder or of one GGUF
   *   model, or a directory handle that may be read; in Node also a local path
   * @throws WordloomError option-invalid, source-unsupported; model-not-found, network-failed, cors-refused,
   *   server-failed, rate-limited, access-denied; config-invalid, config-unsupported, model-unsupported,
   *   tokenizer-unsupported, file-invalid, tensor-missing, tensor-mismatch; webgpu-unavailable, device-limit,
   *   out-of-memory, device-lost, kernel-failed; worker-failed.
   *   `signal.reason` on abort
   */
  static async load(source: ModelSource, options: LoadOptions = {}): Promise<TextGenerator> {
    const { request, connect } = resolveLoadOptions(source, options, currentBaseUrl());
    connect.signal.throwIfAborted();
    const engine = await connectEngine(request, connect);
    if (engine.info.stored) void askToPersist(); // whatever the answer, the model is loaded
    return new TextGenerator(engine);
  }

  /**
   * What `load` with the same options would take: a few kB are read (config and the headers of the weights), nothing is
   * loaded. The bytes are those that `info.bytes` tells after loading. On WebGPU, on the caller's thread.
   *
   * @throws WordloomError as `load`, but for device-limit and out-of-memory: those are the verdict "exceeds"
   */
  static async plan(source: ModelSource, options: PlanOptions = {}): Promise<ModelPlan> {
    const { request, connect } = resolvePlanOptions(source, options, currentBaseUrl());
    connect.signal.throwIfAborted();
    return planHere(request, connect);
  }

  /** What was loaded, how it is held, where it runs, and why; does not change once loaded. Sizes are in bytes. */
  get info(): EngineInfo {
    return this.#engine.info;
  }

  /**
   * Starts to write at once, or when everything asked for before has ended; nothing need be read for it to go on. Never
   * throws: what is wrong with the input or an option is thrown by the run's iteration, `text()` and `end`.
   *
   * @param input a string, token ids or chat messages; at most `info.contextLength` tokens (prompt-too-long)
   */
  generate(input: ModelInput, options: GenerateOptions = {}): GenerationRun {
    return new GenerationRun(given(options.signal) ? options.signal : undefined, (onChunk, signal) => {
      this.#assertAlive();
      const { vocabSize } = this.info;
      const settings = resolveGenerateOptions(options, vocabSize);
      const request = { ...settings, input: tagInput(input, vocabSize, resolveChatOptions(options)) };
      const process = given(options.logitsProcessor) ? checkedProcessor(options.logitsProcessor) : undefined;
      return { seed: settings.seed, end: this.#engine.generate(request, onChunk, signal, process) };
    });
  }

  /**
   * The model's own log-probability (natural log; temperature 1, no processors) of each token of `input` after those
   * before it; the first one has null.
   *
   * @param input as for `generate`; at most `info.contextLength` tokens
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

  /**
   * Text → ids, as the Hugging Face tokenizer of the same tokenizer.json gives them; or messages → the ids of the whole
   * prompt, so that its length is known before it is sent.
   *
   * @param options.addSpecialTokens of a text: also those the tokenizer itself adds, as for a prompt; default true
   * @throws WordloomError option-invalid, disposed; of messages also template-missing, template-failed, tools-unsupported
   */
  async tokenize(input: string | readonly ChatMessage[], options: TokenizeOptions = {}): Promise<number[]> {
    this.#assertAlive();
    const known: Record<keyof TokenizeOptions, true> = {
      ...{ addSpecialTokens: true, tools: true, templateOptions: true, continueFinalMessage: true },
    };
    refuseUnknown(options, known, "tokenize");
    if (typeof input !== "string" && typeof input[0] !== "object") throw invalid("text", input, "a string or messages");
    const tagged = tagInput(input, this.info.vocabSize, resolveChatOptions(options));
    const addSpecialTokens = flag(options, "addSpecialTokens", true);
    if (tagged.kind === "chat" && given(options.addSpecialTokens)) {
      throw invalid("addSpecialTokens", addSpecialTokens, "left out for messages, whose template writes its own");
    }
    return this.#engine.tokenize(tagged.kind === "chat" ? tagged : String(input), { addSpecialTokens });
  }

  /**
   * Ids → text; special tokens give none, bytes that are no character U+FFFD.
   *
   * @throws WordloomError option-invalid for an id beyond the vocabulary; disposed
   */
  async detokenize(ids: readonly number[] | Uint32Array): Promise<string> {
    this.#assertAlive();
    return ids.length === 0 ? "" : this.#engine.detokenize(checkIds(ids, this.info.vocabSize));
  }

  /** Frees the GPU's buffers and the worker; what is pending or comes later is refused with `disposed`. Twice is once. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#engine.dispose();
  }

  #assertAlive(): void {
    if (this.#disposed) throw new WordloomError("disposed", "this generator was disposed of");
  }
}
