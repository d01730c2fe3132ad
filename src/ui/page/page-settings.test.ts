import { expect, test } from "vitest";
import { foreignHost, readQuery } from "./query";
import { describeSampling, samplingOf } from "./sampling";

const PAGE = "https://page.example/loom/";
const OWN = { temperature: 0.5, topK: 3, topP: undefined, minP: undefined, repetitionPenalty: undefined };

test("the address takes the element's attributes by their names", () => {
  const query = readQuery(
    "?model=models/x&prompt=Once%20upon&temperature=0.7&top-k=5&seed=3&dtype=q8&run&allow-reference",
  );
  expect(query.load).toMatchObject({ model: "models/x", dtype: "q8", allowReference: true });
  expect(query.generate).toMatchObject({ temperature: 0.7, topK: 5, seed: 3, maxNewTokens: undefined });
  expect(query).toMatchObject({ prompt: "Once upon", run: true, unknown: [] });
});

test("what the address says and nobody understands is named", () => {
  expect(readQuery("?topK=5&run=false&topK=6")).toMatchObject({ unknown: ["topK"], run: false });
});

test.each([
  [undefined, undefined],
  ["models/x", undefined],
  ["https://page.example/other", undefined],
  ["https://page.example:8443/x", "page.example:8443"],
  ["//elsewhere.example/x", "elsewhere.example"],
  ["hf:org/name", "huggingface.co"],
  ["data:text/plain,x", "data:"],
])("the model %s is fetched from another server: %s", (source, host) => expect(foreignHost(source, PAGE)).toBe(host));

test("the model's suggestion is used as it is, and without one the likeliest word is taken", () => {
  expect(samplingOf("model", { temperature: 0.8, topP: 0.95 }, OWN)).toMatchObject({
    temperature: 0.8,
    topP: 0.95,
    topK: undefined,
  });
  expect(samplingOf("model", {}, OWN)).toMatchObject({ temperature: 0, topP: undefined });
  expect(samplingOf("model", undefined, OWN)).toMatchObject({ temperature: 0 });
  expect(samplingOf("likeliest", { temperature: 0.8 }, OWN)).toMatchObject({ temperature: 0 });
  expect(samplingOf("own", { temperature: 0.8 }, OWN)).toBe(OWN);
});

test("a sampling is described by what it sets", () => {
  expect(describeSampling(OWN)).toBe("temperature 0.5, top-k 3");
});
