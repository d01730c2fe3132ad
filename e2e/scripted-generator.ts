/** A generator that needs no model, put into an element of the built site. */
import type { Page } from "@playwright/test";

/**
 * The page's element writes `piece` so many times a second, as many as its max-new-tokens say.
 *
 * @param shown puts a text of so many pieces there first, with its tokens
 */
export async function useScript(page: Page, { piece, perSecond, shown }: Script): Promise<void> {
  await page.locator("word-loom").evaluate(
    (element, { piece, perSecond, shown }) => {
      const bytes = new TextEncoder().encode(piece);
      const info = {
        ...{ backend: "webgpu", dtype: "q8", contextLength: 1e6, layerCount: 1, parameterCount: 1e6, vocabSize: 10 },
        bytes: { weights: 1e6, kvCache: 1e6, activations: 1e6 },
      };
      const generate = (_: unknown, options: { maxNewTokens: number; signal: AbortSignal }) => {
        let written = 0;
        let end: (end: unknown) => void = () => {};
        const ended = new Promise((resolve) => (end = resolve));
        const finish = (finishReason: string) =>
          end({
            ...{ finishReason, seed: 1, usage: { promptTokens: 1, cachedTokens: 0, completionTokens: written } },
            timings: {
              ...{ prefillMs: 1, firstTokenMs: 1, decodeMs: 1, prefillTokensPerSecond: 1 },
              decodeTokensPerSecond: perSecond,
            },
          });
        async function* chunks() {
          const beginMs = performance.now();
          while (written < options.maxNewTokens && !options.signal.aborted) {
            await new Promise((resolve) =>
              setTimeout(resolve, beginMs + (1000 * (written + 1)) / perSecond - performance.now()),
            );
            written += 1;
            yield { text: piece, tokens: [{ id: 1, text: piece, bytes, logprob: -1 }] };
          }
          finish(options.signal.aborted ? "abort" : "length");
        }
        return { end: ended, [Symbol.asyncIterator]: chunks };
      };
      const generator = { info, generate, tokenize: async () => [1], dispose: async () => {} };
      Object.assign(element, { createGenerator: async () => generator, model: "scripted" });
      const tokens = Array.from({ length: shown }, (_, number) => ({
        ...{ id: 1, bytes, logprob: -1, elapsedMs: 16 },
        ...{ start: number * piece.length, end: (number + 1) * piece.length },
      }));
      const loom = element as unknown as { replaceText(text: string, tokens: unknown[]): void };
      loom.replaceText(piece.repeat(shown), tokens);
    },
    { piece, perSecond, shown },
  );
}

export interface Script {
  piece: string;
  perSecond: number;
  shown: number;
}

/** Elements and texts of the element, in its shadow root. */
export function nodeCount(page: Page): Promise<number> {
  return page.locator("word-loom").evaluate(({ shadowRoot }) => {
    if (!shadowRoot) throw new Error("it has not been rendered");
    const walker = document.createTreeWalker(shadowRoot);
    let count = 0;
    while (walker.nextNode()) count += 1;
    return count;
  });
}

/** Writes on so many tokens. */
export async function writeOn(page: Page, tokens: number): Promise<void> {
  await page.locator("word-loom").evaluate(async (element, tokens) => {
    const loom = Object.assign(element as unknown as { continue(): Promise<unknown> }, { maxNewTokens: tokens });
    await loom.continue();
  }, tokens);
}
