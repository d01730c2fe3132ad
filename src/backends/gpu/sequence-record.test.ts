import { expect, test } from "vitest";
import { shaderFiles } from "../../gpu/shader-files";
import { RECORD_BYTES } from "../../kernels/kernel";
import { HISTORY_HEADER_BYTES } from "../../kernels/sampling";
import { samplingSettings } from "../../testing/sampling-settings";
import { encodeBreakers, encodeHistory } from "./history";
import { decodeReport, encodeRecord, REPORT_BYTES, TOP_BYTES } from "./sequence-record";

/** A shader's own list of members, in order, with their sizes in words. */
const membersOf = (file: string) =>
  [...(shaderFiles.get(file) ?? "").matchAll(/^ {2}(\w+): (?:u32|f32|array<u32(?:, (\d+))?>),/gm)].map(
    ([, name = "", count = "1"]) => ({ name, words: Number(count) }),
  );
const members = membersOf("lib/sequence.wgsl");

/** Word index of a member, by the shader. */
function wordOf(name: string, of = members): number {
  let at = 0;
  for (const member of of) {
    if (member.name === name) return at;
    at += member.words;
  }
  throw new Error(`the shader has no member ${name}`);
}

test("the record is as long as the shader's struct", () => {
  expect(members.reduce((sum, { words }) => sum + words, 0) * 4).toBe(RECORD_BYTES);
});

test("every setting lies where the shader reads it", () => {
  const sampling = samplingSettings({
    temperature: 0.5,
    topK: 40,
    topP: 0.875,
    minP: 0.0625,
    repetitionPenalty: 1.25,
    frequencyPenalty: 0.5,
    presencePenalty: -0.25,
    seed: [7, 9],
    topLogprobs: 3,
    typicalP: 0.75,
    topNSigma: 1.5,
    xtcProbability: 0.375,
    xtcThreshold: 0.125,
    minNewTokens: 4,
    forcedTokens: [8, 9],
  });
  const record = encodeRecord(
    { sampling, promptTokens: new Uint32Array(), endTokenIds: [5, 6], maxNewTokens: 11 },
    512,
  );
  const words = new Uint32Array(record);
  const floats = new Float32Array(record);
  const found = {
    limit: words[wordOf("limit")],
    capacity: words[wordOf("capacity")],
    seed: [words[wordOf("seed_low")], words[wordOf("seed_high")]],
    inverse: floats[wordOf("inverse_temperature")],
    topK: words[wordOf("top_k")],
    topP: floats[wordOf("top_p")],
    minP: floats[wordOf("min_p")],
    repetition: floats[wordOf("repetition")],
    frequency: floats[wordOf("frequency")],
    presence: floats[wordOf("presence")],
    topCount: words[wordOf("top_count")],
    endCount: words[wordOf("end_count")],
    ends: [words[wordOf("ends")], words[wordOf("ends") + 1]],
    typicalP: floats[wordOf("typical_p")],
    topNSigma: floats[wordOf("top_n_sigma")],
    xtcProbability: floats[wordOf("xtc_probability")],
    xtcThreshold: floats[wordOf("xtc_threshold")],
    minimum: words[wordOf("minimum")],
    forcedCount: words[wordOf("forced_count")],
  };
  expect(found).toEqual({
    limit: 11,
    capacity: 512,
    seed: [7, 9],
    inverse: 2,
    topK: 40,
    topP: 0.875,
    minP: 0.0625,
    repetition: 1.25,
    frequency: 0.5,
    presence: -0.25,
    topCount: 3,
    endCount: 2,
    ends: [5, 6],
    typicalP: 0.75,
    topNSigma: 1.5,
    xtcProbability: 0.375,
    xtcThreshold: 0.125,
    minimum: 4,
    forcedCount: 2,
  });
});

test("the coldest temperatures stay finite", () => {
  for (const temperature of [1e-20, 1e-38, 1e-45, 1e-300]) {
    const record = encodeRecord(
      {
        sampling: samplingSettings({ temperature }),
        promptTokens: new Uint32Array(),
        endTokenIds: [],
        maxNewTokens: 1,
      },
      1,
    );
    expect(new Float32Array(record)[wordOf("inverse_temperature")]).toBe(
      Math.fround(1e30 < 1 / temperature ? 1e30 : 1 / temperature),
    );
  }
});

test("a limit beyond 32 bits is the largest, and the hottest temperature is not greedy", () => {
  const record = encodeRecord(
    {
      sampling: samplingSettings({ temperature: 1e300 }),
      promptTokens: new Uint32Array(),
      endTokenIds: [],
      maxNewTokens: 2 ** 40,
    },
    1,
  );
  expect(new Uint32Array(record)[wordOf("limit")]).toBe(0xffffffff);
  expect(new Float32Array(record)[wordOf("inverse_temperature")]).toBeGreaterThan(0);
});

test("a report is read from the words that the shader writes", () => {
  const report = new ArrayBuffer(REPORT_BYTES + TOP_BYTES);
  const words = new Uint32Array(report);
  const floats = new Float32Array(report);
  words[wordOf("token")] = 42;
  words[wordOf("count")] = 3;
  words[wordOf("done")] = 1;
  floats[wordOf("logprob")] = -0.5;
  words.set([8, 0, 9, 0], REPORT_BYTES / 4);
  floats[REPORT_BYTES / 4 + 1] = -0.25;
  floats[REPORT_BYTES / 4 + 3] = -1.5;
  words[wordOf("rank")] = 17;
  floats[wordOf("entropy")] = 2.5;
  expect(decodeReport(report, 0, true)).toMatchObject({ top: [], statistics: { rank: 17, entropy: 2.5 } });
  expect(decodeReport(report, 2)).toEqual({
    id: 42,
    count: 3,
    done: true,
    invalid: false,
    logprob: -0.5,
    top: [
      { id: 8, logprob: -0.25 },
      { id: 9, logprob: -1.5 },
    ],
  });
});

test("the history's settings and tokens lie where the shader reads them, as far as there are positions", () => {
  const sampling = samplingSettings({
    penaltyLastN: 64,
    noRepeatNgramSize: 3,
    dryMultiplier: 0.5,
    dryBase: 2,
    dryAllowedLength: 4,
    forcedTokens: [7, 8, 9],
    dryBreakers: new Set([0, 33, 500]),
  });
  const options = { sampling, promptTokens: Uint32Array.of(5, 6), endTokenIds: [], maxNewTokens: 1 };
  const bytes = encodeHistory(options, 3);
  const [words, floats] = [new Uint32Array(bytes), new Float32Array(bytes)];
  const history = membersOf("lib/history.wgsl");
  const at = (name: string) => wordOf(name, history);
  expect(at("tokens") * 4).toBe(HISTORY_HEADER_BYTES);
  expect({
    promptLength: words[at("prompt_length")],
    penaltyLastN: words[at("penalty_last_n")],
    ngramSize: words[at("ngram_size")],
    multiplier: floats[at("dry_multiplier")],
    baseLog2: floats[at("dry_base_log2")],
    allowed: words[at("dry_allowed")],
    longest: words[at("dry_longest")],
    lastN: words[at("dry_last_n")],
    tokens: [...words.subarray(at("tokens"))],
  }).toEqual({
    promptLength: 2,
    penaltyLastN: 64,
    ngramSize: 3,
    multiplier: 0.5,
    baseLog2: 1,
    allowed: 4,
    longest: 68,
    lastN: 0xffffffff,
    tokens: [5, 6, 7, 8], // positions 0 to 2, and the token after them, which no position is left for
  });
  expect([...encodeBreakers(sampling, 100)]).toEqual([1, 2, 0, 0]);
});
