/** A generator without a model, for tests of the elements: writes given pieces at a given pace. */
import type {
  GenerateOptions,
  GenerationEnd,
  Generator,
  GeneratorInfo,
  LoadProgress,
  TextChunk,
} from "../ui/generator";

export interface FakeAnswer {
  pieces?: readonly string[];
  /** Between two pieces; 0: as fast as the event loop turns. */
  pieceMs?: number;
  finishReason?: "stop" | "length";
  /** Thrown in place of the piece with this number. */
  failure?: { atPiece: number; error: unknown };
}

export const FAKE_INFO: GeneratorInfo = {
  modelType: "llama",
  dtype: "f16",
  kvDtype: "f16",
  reason: "the weights are f16 and the device has shader-f16",
  backend: "webgpu",
  backendReason: "the browser has WebGPU",
  worker: true,
  workerReason: "a worker could be started",
  stored: false,
  storeReason: "not kept: the page's own server has the files",
  adapter: "Fake adapter",
  isFallbackAdapter: false,
  tier: "subgroups+f16",
  contextLength: 512,
  layerCount: 6,
  kvShape: [{ layers: 6, heads: 4, headSize: 32 }],
  vocabSize: 4096,
  parameterCount: 5_475_584,
  suggestedSampling: { temperature: 0.8, topP: 0.95 },
  bytes: { weights: 10_951_168, kvCache: 3_145_728, activations: 1_310_720 },
};

/** Progress as the engine reports it, for a model of one file. */
export const FAKE_PROGRESS: readonly LoadProgress[] = [
  { phase: "config", file: "config.json", loadedBytes: 0, totalBytes: undefined },
  { phase: "weights", file: "model.safetensors", loadedBytes: 4_404_019, totalBytes: 10_957_152 },
];

export class FakeGenerator implements Generator {
  readonly info: GeneratorInfo = FAKE_INFO;
  /** What `generate` was called with, in order. */
  readonly calls: { input: string | readonly number[]; options: GenerateOptions }[] = [];
  disposed = 0;
  answer: FakeAnswer = {};

  async tokenize(text: string): Promise<number[]> {
    return text.split(/\s+/).map((_, index) => index);
  }

  async dispose(): Promise<void> {
    this.disposed += 1;
  }

  generate(input: string | readonly number[], options: GenerateOptions): ReturnType<Generator["generate"]> {
    this.calls.push({ input, options });
    const answer = this.answer;
    let resolve: (end: GenerationEnd) => void = () => {};
    let reject: (error: unknown) => void = () => {};
    const ended = new Promise<GenerationEnd>((...settle) => ([resolve, reject] = settle));
    ended.catch(() => undefined); // as the real one: never an unhandled rejection
    const signal = options.signal ?? new AbortController().signal;
    const startMs = performance.now();
    let written = 0;
    const finish = (finishReason: GenerationEnd["finishReason"]) => {
      const decodeMs = performance.now() - startMs;
      resolve({
        finishReason,
        seed: options.seed ?? 7,
        usage: {
          promptTokens: typeof input === "string" ? input.split(/\s+/).length : input.length,
          cachedTokens: 0,
          completionTokens: written,
        },
        timings: {
          prefillMs: 12,
          firstTokenMs: 18,
          decodeMs,
          prefillTokensPerSecond: 900,
          decodeTokensPerSecond: (written / Math.max(decodeMs, 1)) * 1000,
        },
      });
    };
    async function* chunks(): AsyncGenerator<TextChunk> {
      try {
        for (const [index, text] of (answer.pieces ?? [" and", " so", " on", "."]).entries()) {
          await new Promise((done) => setTimeout(done, answer.pieceMs ?? 0));
          signal.throwIfAborted();
          if (answer.failure?.atPiece === index) throw answer.failure.error;
          written += 1;
          yield { index: 0, text, tokens: [{ id: index, text, bytes: new TextEncoder().encode(text), logprob: -1 }] };
        }
        finish(answer.finishReason ?? "stop");
      } catch (error) {
        if (signal.aborted) finish("abort");
        else reject(error);
        throw error;
      }
    }
    signal.addEventListener("abort", () => finish("abort"), { once: true });
    return { end: ended, [Symbol.asyncIterator]: chunks };
  }
}
