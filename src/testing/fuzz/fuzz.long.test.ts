import { expect, test } from "vitest";
import { fuzz } from "./runner";
import { TARGETS } from "./targets";

/** FUZZ_INPUTS and FUZZ_SEED: fewer, or others. */
const COUNT = Number(process.env["FUZZ_INPUTS"] ?? 1_000_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);

test.each(TARGETS.map((target) => [target.name, target] as const))(
  `%s: ${COUNT} hostile inputs are read or refused`,
  (_, target) => {
    const faults = fuzz(target, COUNT, SEED);
    const shown = faults.map(
      ({ fault, input }) =>
        `${fault}\n  ${JSON.stringify(new TextDecoder().decode(input)).slice(0, 400)}\n  base64 ${Buffer.from(input).toString("base64").slice(0, 1500)}`,
    );
    expect(shown).toEqual([]);
  },
  36_000_000,
);
