/** Two models on one device: the small one's drafts, checked by the other. */
import { afterAll, expect, test } from "vitest";
import { TextGenerator } from "../index";
import { browserDevice } from "../testing/browser-device";
import { goldenUrl } from "../testing/served-models";

const device = await browserDevice();
afterAll(() => device.destroy());

test("a draft model on the GPU guesses, and the ids are the plain ones", async () => {
  const llama = goldenUrl("llama");
  const generator = await TextGenerator.load(llama, {
    draftModel: llama,
    device,
    dtype: "f32",
    internal: { tier: "cpu" },
  });
  const write = async (method?: "draft-model") => {
    const options = { maxNewTokens: 24, ignoreEos: true, ...(method && { speculative: { method } }) };
    const run = generator.generate([5, 6, 7], options);
    const ids: number[] = [];
    for await (const { tokens } of run) ids.push(...tokens.map(({ id }) => id));
    return { ids, speculation: (await run.end).speculation };
  };
  const { ids } = await write();
  for (let round = 0; round < 2; round++) {
    const guessed = await write("draft-model");
    expect(guessed.ids).toEqual(ids);
    // It is the same model: 1 token with the prompt, four passes of 5, one of 3.
    expect(guessed.speculation).toEqual({ drafted: 18, accepted: 18, verifications: 5 });
  }
  await generator.dispose();
});
