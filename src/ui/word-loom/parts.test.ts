import { describe, expect, test } from "vitest";
import { headline, losesModel, offerFor } from "./failure";
import { generateOptions, loadKey, loadOptions, numberConverter, stopStringsConverter } from "./options";
import { RateMeter } from "./rate-meter";
import { takeSentences } from "./sentences";

const LOAD = {
  model: undefined,
  dtype: undefined,
  contextLength: undefined,
  backend: undefined,
  allowReference: false,
};
const GENERATE = {
  maxNewTokens: undefined,
  temperature: undefined,
  topK: undefined,
  topP: undefined,
  minP: undefined,
  repetitionPenalty: undefined,
  seed: undefined,
  stopStrings: undefined,
};

describe("options", () => {
  test("only what was set is passed on", () => {
    expect(loadOptions(LOAD)).toEqual({});
    expect(generateOptions({ ...GENERATE, temperature: 0, stopStrings: ["END"] })).toEqual({
      temperature: 0,
      stop: ["END"],
    });
  });

  test("an attribute that is no number is passed on as NaN, to be refused by name", () => {
    expect(numberConverter.fromAttribute("0.5")).toBe(0.5);
    expect(numberConverter.fromAttribute("warm")).toBeNaN();
    expect(numberConverter.fromAttribute("")).toBeNaN();
    expect(numberConverter.fromAttribute(null)).toBeUndefined();
  });

  test.each([
    ["END", ["END"]],
    ['["a","b\\n"]', ["a", "b\n"]],
    ["[END", ["[END"]],
    ["[1]", ["[1]"]],
  ])("stop-strings=%s means %j", (value, strings) =>
    expect(stopStringsConverter.fromAttribute(value)).toEqual(strings),
  );

  test("the same source loaded the same way has the same key, and the bundled model is the default", () => {
    expect(loadKey(LOAD)).toBe(loadKey({ ...LOAD, model: "models/wordloom-stories" }));
    expect(loadKey(LOAD)).not.toBe(loadKey({ ...LOAD, dtype: "q4" }));
  });
});

describe("rate", () => {
  test("is that of the last seconds, not of the whole time", () => {
    const meter = new RateMeter(1000);
    for (let atMs = 0; atMs <= 2000; atMs += 100) meter.record(atMs / 100, atMs); // 10 a second
    for (let atMs = 2100; atMs <= 4000; atMs += 100) meter.record(20 + (atMs - 2000) / 10, atMs); // 100 a second
    expect(meter.perSecond).toBeCloseTo(100, 5);
  });

  test("is unknown before a tenth of a second has been seen", () => {
    const meter = new RateMeter();
    meter.record(0, 0);
    meter.record(5, 99);
    expect(meter.perSecond).toBeUndefined();
  });
});

describe("sentences", () => {
  test.each([
    ["One. Two. Thr", "One. Two. ", "Thr"],
    ["no end yet", "", "no end yet"],
    ["", "", ""],
    ["これは文です。次の", "これは文です。", "次の"],
  ])("of %j, %j is whole", (pending, whole, rest) => expect(takeSentences(pending)).toEqual({ whole, rest }));

  test("one without an end is cut at a blank after some 500 characters, or where it is", () => {
    const long = "la ".repeat(200);
    expect(takeSentences(`One. ${long}la`)).toEqual({ whole: `One. ${long}`, rest: "la" });
    expect(takeSentences("字".repeat(600))).toEqual({ whole: "字".repeat(600), rest: "" });
  });
});

describe("failures", () => {
  test("each says in a sentence what happened", () => expect(headline("device-lost")).toMatch(/^[A-Z].*\.$/));

  test.each([
    ["webgpu-unavailable", true, "without-gpu"],
    ["webgpu-unavailable", false, undefined],
    ["device-lost", false, "reload"],
    ["network-failed", false, "reload"],
    ["prompt-too-long", true, "edit-prompt"],
    ["model-unsupported", true, undefined],
  ] as const)("%s (small model: %s) offers %s", (code, small, offer) => expect(offerFor(code, small)).toBe(offer));

  test("a refused prompt keeps the model, a lost device does not", () => {
    expect(losesModel("prompt-too-long")).toBe(false);
    expect(losesModel("option-invalid")).toBe(false);
    expect(losesModel("device-lost")).toBe(true);
  });
});
