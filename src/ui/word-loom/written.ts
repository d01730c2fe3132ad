import type { GenerationEnd, Generator } from "../generator";
import { RateMeter } from "./rate-meter";

/** How the text on the page came about: its prompt, its numbers, its end; and whether it can be continued. */
export class Written {
  #promptTokens: number | undefined;
  #completionTokens = 0;
  #end: GenerationEnd | undefined;
  readonly #rate = new RateMeter();

  /** @param prompt what the text began with; after writing on, that of the first run */
  constructor(readonly prompt: string) {}

  /** Of the last run. */
  get completionTokens(): number {
    return this.#completionTokens;
  }

  /** Undefined while it is being written, and where writing failed. */
  get end(): GenerationEnd | undefined {
    return this.#end;
  }

  /** Of the whole run once it has ended, else over the last seconds; undefined where not known. */
  get tokensPerSecond(): number | undefined {
    return this.#end?.timings.decodeTokensPerSecond ?? this.#rate.perSecond;
  }

  /** Positions of the context in use; undefined until the prompt's tokens have been counted. */
  get contextUsed(): number | undefined {
    return this.#promptTokens === undefined ? undefined : this.#promptTokens + this.#completionTokens;
  }

  /** Whether more can be written after it: it did not come to its own end, and the context has room. */
  hasRoom(contextLength: number | undefined): boolean {
    const used = this.contextUsed;
    const full = used !== undefined && contextLength !== undefined && used >= contextLength;
    return !full && this.#end?.finishReason !== "stop";
  }

  /** So that the context meter is right from the first token on, and not only at the end. */
  async countPrompt(generator: Generator, input: string | readonly number[]): Promise<void> {
    try {
      const tokens = typeof input === "string" ? await generator.tokenize(input) : input;
      this.#promptTokens ??= tokens.length;
    } catch {
      return; // the run itself meets the same failure and reports it
    }
  }

  add(tokenCount: number): void {
    this.#completionTokens += tokenCount;
    this.#rate.record(this.#completionTokens, performance.now());
  }

  finish(end: GenerationEnd): void {
    this.#end = end;
    this.#promptTokens = end.usage.promptTokens;
    this.#completionTokens = end.usage.completionTokens;
  }
}
