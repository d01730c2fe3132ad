import { describe, expect, test } from "vitest";
import * as reference from "../backends/reference/operations";
import type { HeldDtype } from "../formats/quantization";
import { expectClose } from "../testing/compare";
import { gpuHarness, padded, TIERS } from "../testing/gpu-harness";
import { normalValues, seededRandom } from "../testing/random";
import { embed } from "./embed";
import { paddedWidth } from "./kernel";

const gpu = gpuHarness();
const SCALE = 1.7;
const VOCAB = 11;
const POSITIONS = 9;
/** One product and one sum, each rounded once; a fused one rounds less. */
const ROUNDED_TWICE = { relative: 2.5e-7, absolute: 1e-6 };

function tables(format: HeldDtype, width: number) {
  const random = seededRandom(width);
  const values = normalValues(random, VOCAB * width);
  const positions = normalValues(random, POSITIONS * width);
  const learned = gpu.upload(padded(positions, width, Math.ceil(width / 4) * 4));
  return { ...gpu.matrix(format, values, VOCAB, width), positions, learned };
}

describe.each(TIERS)("on the tier %s", (tier) => {
  // Widths on both sides of a group of 32 and of a vector of 4; learned positions with every other format.
  test.each([
    ["f32", 33, true],
    ["f16", 6, false],
    ["q8", 31, true],
    ["q4", 172, false],
    ["q4", 65, true],
    ["q4_k", 512, false],
    ["q5_k", 256, true],
    ["q6_k", 512, false],
  ] as const)("a prompt's rows of a %s table of %i columns, positions %s", async (format, width, withPositions) => {
    const { part, values, positions, learned } = tables(format, width);
    const tokens = Uint32Array.of(0, 10, 3, 3, 7);
    const start = 4; // to the last position there is
    const x = gpu.empty(tokens.length * paddedWidth(width) * 4);
    const dispatch = await embed(gpu.context(tier), {
      step: { kind: "prefill", chunk: gpu.chunk(start, tokens) },
      table: part,
      positions: withPositions ? learned : undefined,
      scale: SCALE,
      x,
      rows: tokens.length,
    });
    gpu.run([dispatch], tokens.length);
    expectClose(
      await gpu.unpadded(x, tokens.length, width),
      reference.embed(values, withPositions ? positions : undefined, tokens, { scale: SCALE, start, width }),
      ROUNDED_TWICE,
    );
  });

  test("one token's row, wherever the table is split", async () => {
    const width = 36;
    const { part, values, positions, learned } = tables("f32", width);
    const border = 6;
    const lower = gpu.matrix("f32", values.slice(0, border * width), border, width).part;
    const upper = gpu.matrix("f32", values.slice(border * width), VOCAB - border, width, border).part;
    const x = gpu.empty(paddedWidth(width) * 4);
    const sequences = gpu.record();
    const shared = { step: { kind: "decode", sequences }, positions: learned, scale: SCALE, x, rows: 1 } as const;
    const [whole, ...parts] = await Promise.all(
      [part, lower, upper].map((table) => embed(gpu.context(tier), { ...shared, table })),
    );
    if (whole === undefined) throw new Error("there are three");
    for (const token of [0, border - 1, border, VOCAB - 1]) {
      const tokens = Uint32Array.of(token);
      const expected = reference.embed(values, positions, tokens, { scale: SCALE, start: 8, width });
      for (const list of [[whole], parts]) {
        gpu.setStep(sequences, 8, token);
        gpu.write(x, new Float32Array(width));
        gpu.run(list);
        expectClose(await gpu.unpadded(x, 1, width), expected, ROUNDED_TWICE);
      }
    }
  });
});

test("a step past the end and rows beyond the chunk write nothing", async () => {
  const { part } = tables("f32", 32);
  const x = gpu.empty(2 * 32 * 4);
  const done = gpu.upload(Uint32Array.of(0, 0, 0, 1), 256);
  const chunk = gpu.chunk(0, new Uint32Array(0), 2);
  const shared = { table: part, positions: undefined, scale: 1, x };
  const context = gpu.context("cpu");
  gpu.run([await embed(context, { ...shared, step: { kind: "decode", sequences: done }, rows: 1 })]);
  gpu.run([await embed(context, { ...shared, step: { kind: "prefill", chunk }, rows: 2 })], 2);
  expect((await gpu.floats(x)).every((value) => value === 0)).toBe(true);
});
