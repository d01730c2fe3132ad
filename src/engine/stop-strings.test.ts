/** What a reader sees of an answer with stop strings, however its bytes are cut into tokens and however far steps run ahead. */
import { expect, test } from "vitest";
import { FakeBackend } from "../testing/fake-backend";
import { seededRandom } from "../testing/random";
import { samplingSettings } from "../testing/sampling-settings";
import type { Tokenizer } from "../tokenizer/tokenizer";
import type { Chunk } from "./answer-stream";
import { LocalEngine, type EngineInfo, type GenerateRequest } from "./engine";

const DEPTHS = [0, 1, 2, 3, 4];
const never = new AbortController().signal;
const utf8 = (text: string) => [...new TextEncoder().encode(text)];
const END = 0;
const PROMPT = 1;

/** An engine whose answer is these tokens, by their bytes (none: a special token), and then the end token. */
function writing(tokens: readonly (readonly number[])[], runAhead: number): LocalEngine {
  const bytes = [[], [], ...tokens].map((each) => Uint8Array.from(each));
  const tokenizer: Pick<Tokenizer, "bytesOf"> = { bytesOf: (id) => bytes[id] ?? new Uint8Array(0) };
  // Past its end the script goes on with what must not be seen.
  const next = (all: readonly number[]) => (all.length > tokens.length ? END : all.length + 1);
  return new LocalEngine({
    backend: new FakeBackend({ next, takesTime: false }),
    tokenizer: tokenizer as Tokenizer, // of a prompt of ids nothing else is asked
    endTokenIds: [END],
    info: { contextLength: 1000, vocabSize: bytes.length } as EngineInfo, // all that the engine asks of it
    fingerprint: "",
    scheduler: { runAhead },
  });
}

async function read(tokens: readonly (readonly number[])[], stop: readonly string[], runAhead: number) {
  const engine = writing(tokens, runAhead);
  const request: GenerateRequest = {
    input: { kind: "ids", ids: Uint32Array.of(PROMPT) },
    sampling: samplingSettings(),
    ...{ seed: 1, n: 1, maxNewTokens: 100, maxTimeMs: undefined, stop, stopTokenIds: [], endTokenIds: undefined },
    ...{ ignoreEos: false, drySequenceBreakers: [], reusePrefix: true },
  };
  const seen: Chunk[] = [];
  const { finishReason, usage } = await engine.generate(request, (chunk) => seen.push(chunk), never);
  /** What the next run finds in the cache. */
  const cachedOf = async (ids: readonly number[]) => {
    const longer = { ...request, input: { kind: "ids", ids: Uint32Array.from(ids) } as const };
    return (await engine.generate(longer, () => {}, never)).usage.cachedTokens;
  };
  return { seen, text: seen.map(({ text }) => text).join(""), finishReason, usage, cachedOf };
}

/** By definition: up to the stop string that is complete first; of several that end there, the longest. */
function expectedOf(tokens: readonly (readonly number[])[], stop: readonly string[]) {
  const whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(tokens.flat()));
  const ends = stop.flatMap((one) => (whole.includes(one) ? [whole.indexOf(one) + one.length] : []));
  if (ends.length === 0) return { text: whole, isStopped: false };
  const end = Math.min(...ends);
  const longest = Math.max(...stop.filter((one) => whole.slice(0, end).endsWith(one)).map((one) => one.length));
  return { text: whole.slice(0, end - longest), isStopped: true };
}

/** What is seen at any time is a beginning of what may be seen, in whole characters, and the tokens are in it. */
async function expectNoLeak(tokens: readonly (readonly number[])[], stop: readonly string[], runAhead: number) {
  const label = JSON.stringify({ tokens, stop, runAhead });
  const { text: expected, isStopped } = expectedOf(tokens, stop);
  const { seen, text, finishReason, usage } = await read(tokens, stop, runAhead);
  expect(text, label).toBe(expected);
  expect(finishReason, label).toBe("stop");
  let sofar = "";
  let bytes = 0;
  for (const chunk of seen) {
    sofar += chunk.text;
    expect(expected.startsWith(sofar), label).toBe(true);
    expect(isStopped && /[\ud800-\udbff]$/.test(sofar), label).toBe(false);
    bytes += chunk.tokens.reduce((sum, token) => sum + token.bytes.length, 0);
    if (!expected.includes("\ufffd")) expect(bytes, label).toBeLessThanOrEqual(utf8(expected).length);
  }
  if (!isStopped) expect(usage.completionTokens, label).toBe(tokens.length);
  return { text, usage, finishReason };
}

test.each([
  ["aENDb", ["END"]],
  ["aéENDé", ["éEND"]],
  ["😀|€|x", ["|€|"]],
  ["aab", ["ab", "b"]],
  ["xEEN", ["END"]],
  ["é😀", ["😀"]],
])("%j with the stop strings %j, cut into tokens in every way, leaks nothing at any depth", async (text, stop) => {
  const bytes = utf8(text);
  for (let cuts = 0; cuts < 2 ** (bytes.length - 1); cuts++) {
    const ends = bytes.map((_, i) => i + 1).filter((end) => end === bytes.length || (cuts >> (end - 1)) & 1);
    const tokens = ends.map((end, i) => bytes.slice(ends[i - 1] ?? 0, end));
    await expectNoLeak(tokens, stop, cuts % DEPTHS.length);
  }
});

test("random answers with special tokens and broken characters are the same at every depth", async () => {
  const random = seededRandom(404);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T; // none is empty
  const pieces = [[], utf8("a"), utf8("b"), utf8("ab"), [0xc3], [0xa9], utf8("é"), utf8("é").concat(0xf0), [0x9f, 0x98, 0x80], [0xff]]; // prettier-ignore
  const words = ["a", "b", "ab", "ba", "é", "aé", "éa", "abab", "\u{1f600}", "\ufffd"];
  for (let round = 0; round < 120; round++) {
    const tokens = Array.from({ length: Math.floor(random() * 12) }, () => pick(pieces));
    const stop = Array.from({ length: Math.floor(random() * 3) }, () => pick(words));
    const outcomes = [];
    for (const depth of DEPTHS) outcomes.push(await expectNoLeak(tokens, stop, depth));
    for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0]);
  }
});

test.each(DEPTHS)("after a stop string the cache keeps what lies before it, with %i steps in flight", async (depth) => {
  const tokens = ["ab", "cd", "E", "N", "D", "x", "y"].map(utf8);
  const { text, usage, seen, cachedOf } = await read(tokens, ["END"], depth);
  expect(text).toBe("abcd");
  expect(usage.completionTokens).toBe(5); // the tokens of the stop string count
  expect(seen.flatMap((chunk) => chunk.tokens.map(({ id }) => id))).toEqual([2, 3]);
  expect(await cachedOf([PROMPT, 2, 3, 4, 5, 6, 7])).toBe(3); // the prompt and two tokens
});
