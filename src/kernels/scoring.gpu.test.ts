import { describe, expect, test } from "vitest";
import { logSoftmaxAt, tokenStatistics as statisticsOf } from "../backends/reference/sampling";
import { at } from "../testing/at";
import { expectClose } from "../testing/compare";
import { expectRows, F32_SUMS, gpuHarness, TIERS } from "../testing/gpu-harness";
import { normalValues, seededRandom } from "../testing/random";
import { paddedWidth } from "./kernel";
import { STATISTICS_BYTES, sumRows, tokenStatistics } from "./scoring";

const gpu = gpuHarness();
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

describe.each(TIERS)("token_statistics on the tier %s", (tier) => {
  // Both sides of the largest workgroup of the tiers.
  test.each([1, 63, 65, 1000])("of %i ids gives each row's target the reference's statistics", async (vocabSize) => {
    const stride = Math.ceil(vocabSize / 32) * 32 + 32;
    const targets = Uint32Array.of(0, vocabSize - 1, vocabSize >> 1, 0, vocabSize >> 1);
    const rows = targets.length;
    const logits = normalValues(seededRandom(vocabSize), rows * stride, 4); // what lies between rows is not read
    if (vocabSize > 3) logits.set([-inf, nan, inf], 2 * stride);
    logits.fill(2, 4 * stride, 5 * stride); // all alike: ranked by id, and the entropy is ln V
    const y = gpu.empty(rows * STATISTICS_BYTES);
    const buffers = { logits: gpu.upload(logits), targets: gpu.upload(targets), y };
    gpu.run([await tokenStatistics(gpu.context(tier), { ...buffers, rows, vocabSize, stride })], rows);
    const [floats, words] = [await gpu.floats(y, 4 * rows), await gpu.words(y)];
    const expected = Array.from(targets, (target, row) => {
      const own = logits.subarray(row * stride, row * stride + vocabSize);
      return { logprob: logSoftmaxAt(own, target), ...statisticsOf(own, target) };
    }).filter((_, row) => row !== 2 || vocabSize <= 3); // an infinite logit leaves no distribution
    const seen = Array.from(targets, (_, row) => 4 * row).filter((_, row) => row !== 2 || vocabSize <= 3);
    expectClose(seen.map((word) => at(floats, word)), expected.map(({ logprob }) => logprob), { absolute: 2e-5, relative: 1e-6 }); // prettier-ignore
    expectClose(seen.map((word) => at(floats, word + 1)), expected.map(({ entropy }) => entropy), { absolute: 2e-5 }); // prettier-ignore
    expect(seen.map((word) => at(words, word + 2))).toEqual(expected.map(({ rank }) => rank));
    expect(at(floats, 4 * 4 + 1)).toBeCloseTo(Math.log(vocabSize), 4);
  });
});

describe.each(TIERS)("sum_rows on the tier %s", (tier) => {
  // Both sides of the padding to 32 and of a workgroup's vectors, with fewer rows than the buffer holds.
  test.each([1, 32, 33, 260])("adds up the chunk's rows of %i columns, and no others", async (width) => {
    const [rows, held] = [5, 7];
    const x = normalValues(seededRandom(width), held * width, 3, 1);
    const y = gpu.empty(paddedWidth(width) * 4);
    const chunk = gpu.chunk(0, new Uint32Array(rows));
    gpu.run([await sumRows(gpu.context(tier), { chunk, x: gpu.rows(x, width), y, rows: held, width })], rows);
    const expected = Float32Array.from({ length: width }, (_, column) => {
      let sum = 0;
      for (let row = 0; row < rows; row++) sum += at(x, row * width + column);
      return sum;
    });
    expectRows(await gpu.unpadded(y, 1, width), expected, width, F32_SUMS);
  });
});
