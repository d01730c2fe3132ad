/** What the adapters need of a generator: a `TextGenerator`, of a model on this device or on a server, has it. */
import type { GenerateOptions } from "../api/generate-options";
import type { ModelInput } from "../api/model-input";
import type { TokenizeOptions } from "../api/text-generator";
import type { AnswerPart } from "../chat/answer-parts";
import type { EngineInfo, GenerationEnd } from "../engine/engine";
import type { ChatMessage } from "../tokenizer/tokenizer";

export interface AdaptedToken {
  id: number | null;
  text: string;
  bytes: Uint8Array | null;
  logprob: number;
  top?: { id: number | null; text: string; logprob: number }[];
}

export interface AdaptedChunk {
  /** Of several answers: whose it is. */
  index?: number;
  text: string;
  tokens: AdaptedToken[];
  parts?: AnswerPart[];
  /** What a server has told apart itself. */
  reasoning?: string;
}

export interface AdaptedRun extends AsyncIterable<AdaptedChunk> {
  end: Promise<GenerationEnd>;
}

export interface AdaptedGenerator {
  readonly info: Pick<EngineInfo, "suggestedSampling"> & {
    backend: string;
    dtype: string | undefined;
    /** Undefined where a server does not tell. */
    contextLength: number | undefined;
  };
  generate(input: ModelInput, options?: GenerateOptions): AdaptedRun;
  tokenize(input: string | readonly ChatMessage[], options?: TokenizeOptions): Promise<number[]>;
}

/** A generator, or where it comes from when it is first needed. */
export type GeneratorSource<G extends AdaptedGenerator = AdaptedGenerator> = G | Promise<G> | (() => G | Promise<G>);

/** Gets the generator once; a failed try is not the last one. */
export class LazyGenerator<G extends AdaptedGenerator = AdaptedGenerator> {
  #made: Promise<G> | undefined;

  constructor(private readonly source: GeneratorSource<G>) {}

  get(): Promise<G> {
    const { source } = this;
    const made = (this.#made ??= (async () => (typeof source === "function" ? source() : source))());
    made.catch(() => {
      if (this.#made === made) this.#made = undefined;
    });
    return made;
  }
}

/** What a chunk means; of one that tells nothing about it, the text. */
export function partsOf({ text, parts, reasoning }: AdaptedChunk): AnswerPart[] {
  if (parts) return parts;
  return [
    ...(reasoning === undefined ? [] : [{ type: "reasoning" as const, text: reasoning }]),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
  ];
}

/** As long as the context has room: what a shape without a limit of its own means. */
export function roomOf({ info }: AdaptedGenerator): number {
  return info.contextLength ?? 4096;
}
