import { expect, test } from "vitest";
import { foreignHost, readQuery, sharedAddress, typedSource } from "./query";
import { describeSampling, samplingOf } from "./sampling";

const PAGE = "https://page.example/loom/";
const OWN = { temperature: 0.5, topK: 3 };

test("the address takes the element's attributes by their names", () => {
  const query = readQuery(
    "?model=models/x&prompt=Once%20upon&temperature=0.7&top-k=5&seed=3&dtype=q8&run&allow-reference",
  );
  expect(query.load).toMatchObject({ model: "models/x", dtype: "q8", allowReference: true });
  expect(query.sampling).toEqual({ temperature: 0.7, topK: 5 });
  expect(query).toMatchObject({ prompt: "Once upon", runAtOnce: true, run: { seed: 3 }, mode: "write", unknown: [] });
});

test("what the address says and nobody understands is named", () => {
  expect(readQuery("?topK=5&run=false&topK=6")).toMatchObject({ unknown: ["topK"], runAtOnce: false });
  expect(readQuery("?text=x", "#turns=[1]").unknown).toEqual(["text", "turns"]);
});

test("what is shared comes back as it was, and no server is told of it", () => {
  const shared = {
    load: { model: "hf:org/name", dtype: "q4", contextLength: 512, backend: undefined, allowReference: true },
    run: { maxNewTokens: 40, seed: 0, stop: ["\n\n", "[x]"] },
    sampling: { temperature: 0, topP: 0.9, typicalP: 0.5, dryMultiplier: 0.8, frequencyPenalty: -0.5 },
    prompt: "Once & for all #1 + 100 %",
    text: " they said,\n“ok”.",
    mode: "chat" as const,
    system: "Be kind.",
    turns: [["Hi", "Hello <b>"]] as const,
  };
  const address = new URL(sharedAddress(`${PAGE}?prompt=old&run#x=1`, shared));
  expect(address.origin + address.pathname + address.search).toBe(PAGE);
  expect(readQuery(address.search, address.hash)).toEqual({ ...shared, runAtOnce: false, unknown: [] });
  const bare = new URL(sharedAddress(PAGE, { load: { model: [new File([], "x.gguf")] } }));
  expect(bare.href).toBe(PAGE);
});

test.each([
  ["", undefined],
  [" HuggingFaceTB/SmolLM2-135M ", "hf:HuggingFaceTB/SmolLM2-135M"],
  ["org/name@v1.0", "hf:org/name@v1.0"],
  ["org/name/model-q4.gguf", "hf:org/name/model-q4.gguf"],
  ["hf:org/name", "hf:org/name"],
  ["models/other", "models/other"],
  ["files/x.gguf", "files/x.gguf"],
  ["./a/b", "./a/b"],
  ["https://x.example/m", "https://x.example/m"],
])("who types %j means %j", (typed, source) => expect(typedSource(typed)).toBe(source));

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
  expect(samplingOf("model", { temperature: 0.8, topP: 0.95 }, OWN)).toEqual({ temperature: 0.8, topP: 0.95 });
  expect(samplingOf("model", {}, OWN)).toEqual({ temperature: 0 });
  expect(samplingOf("model", undefined, OWN)).toMatchObject({ temperature: 0 });
  expect(samplingOf("likeliest", { temperature: 0.8 }, OWN)).toMatchObject({ temperature: 0 });
  expect(samplingOf("own", { temperature: 0.8 }, OWN)).toBe(OWN);
});

test("a sampling is described by what it sets", () => {
  expect(describeSampling(OWN)).toBe("temperature 0.5, top-k 3");
});
