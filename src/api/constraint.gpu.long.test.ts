/** Fifty schemas, greedy and at temperature 1.5, with the bundled model. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TextGenerator } from "../index";
import { constrainedAnswer } from "../testing/constrained-answers";
import { JSON_SCHEMAS } from "../testing/json-schemas";
import { BUNDLED_URL } from "../testing/served-models";

let generator: TextGenerator;
beforeAll(async () => {
  generator = await TextGenerator.load(BUNDLED_URL);
});
afterAll(() => generator.dispose());

test("there are fifty of them", () => expect(Object.keys(JSON_SCHEMAS).length).toBeGreaterThanOrEqual(50));

describe.each([0, 1.5])("at temperature %f", (temperature) => {
  test.each(Object.keys(JSON_SCHEMAS))("%s: what is finished is valid", async (name) => {
    const options = { temperature, seed: 5, maxNewTokens: 160 };
    expect(await constrainedAnswer(generator, "Once upon a time", name, options)).toMatchObject({ isFinished: true });
  });

  test("what a limit cuts says so", async () => {
    const options = { temperature, seed: 5, maxNewTokens: 6 };
    const answer = await constrainedAnswer(generator, "Once upon a time", "what a form asks", options);
    expect(answer).toMatchObject({ isFinished: false, tokens: 6 });
  });
});
