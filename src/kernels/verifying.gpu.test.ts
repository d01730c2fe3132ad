import { expect, test } from "vitest";
import { gpuHarness, TIERS } from "../testing/gpu-harness";
import { accept } from "./verifying";

const gpu = gpuHarness();
const [DONE, PAUSED] = [3, 2];

test.each(
  TIERS.flatMap(
    (tier) =>
      [
        [tier, "the draft of the next row goes on", { position: 11, token: 8 }, 0],
        [tier, "another token than that pauses", { position: 11, token: 9 }, PAUSED],
        [tier, "another one before the last row pauses", { position: 12, token: 8 }, PAUSED],
        [tier, "the one behind the last row has no draft to differ from", { position: 13, token: 9 }, 0],
        [tier, "one that ended the run leaves it ended", { position: 11, token: 9, done: 1 }, 1],
      ] as const,
  ),
)("accept on the tier %s: %s", async (tier, _, { position, token, ...rest }, done) => {
  const sequences = gpu.record({ position, token });
  const words = await gpu.words(sequences);
  words[DONE] = "done" in rest ? rest.done : 0;
  gpu.write(sequences, words);
  // Row 0 is the token before the drafts; what lies behind the chunk is not read.
  const chunk = gpu.chunk(10, Uint32Array.of(7, 8, 5), 8);
  gpu.run([await accept(gpu.context(tier), { sequences, chunk })], 1);
  words[DONE] = done;
  expect(await gpu.words(sequences)).toEqual(words);
});
