import { expect, test } from "vitest";
import { keptInputs } from "./corpus";
import { faultOf, fuzz } from "./runner";
import { TARGETS } from "./targets";

/** fuzz.long.test.ts runs a million of each. */
const INPUTS = 20_000;

test.each(keptInputs().map(({ target, fault, input }) => [target, fault, input] as const))(
  "%s: the input that once was a fault is one no more: %s",
  (name, _, input) => {
    const target = TARGETS.find((one) => one.name === name);
    if (target === undefined) throw new Error(`no parser is called ${name}`);
    expect(faultOf(target, input)).toBeUndefined();
  },
  60_000,
);

test(`${INPUTS} hostile inputs, spread over the parsers, are read or refused: in time, by a typed error`, () => {
  const each = Math.ceil(INPUTS / TARGETS.length);
  for (const target of TARGETS) expect({ target: target.name, faults: fuzz(target, each, 1) }).toEqual({ target: target.name, faults: [] }); // prettier-ignore
}, 300_000);
