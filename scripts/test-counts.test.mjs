import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addCounts, closingLine, countsIn, countsOf } from "./test-counts.mjs";

const vitestReport = { numPassedTests: 5, numFailedTests: 1, numPendingTests: 0, numTodoTests: 2 };
const playwrightReport = { stats: { expected: 3, unexpected: 1, flaky: 1, skipped: 4 } };

test("reads vitest's and Playwright's counts; a flaky test has failed", () => {
  expect(countsIn(vitestReport)).toEqual({ passed: 5, failed: 1, skipped: 2 });
  expect(countsIn(playwrightReport)).toEqual({ passed: 3, failed: 2, skipped: 4 });
});

test("the closing line names skipped tests only where there are some", () => {
  expect(closingLine({ passed: 8, failed: 0, skipped: 0 })).toBe("8 passed, 0 failed");
  const sum = addCounts([countsIn(vitestReport), countsIn(playwrightReport)]);
  expect(closingLine(sum)).toBe("8 passed, 3 failed, 6 skipped");
});

test("a step that failed without a failed test counts as one failure, and so does a test step without tests", () => {
  const folder = mkdtempSync(join(tmpdir(), "wordloom-counts-"));
  const empty = join(folder, "empty.json");
  writeFileSync(empty, JSON.stringify({ numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 }));
  expect(countsOf(undefined, 0)).toEqual({ passed: 0, failed: 0, skipped: 0 });
  expect(countsOf(undefined, 2).failed).toBe(1);
  expect(countsOf(join(folder, "missing.json"), 1).failed).toBe(1);
  expect(countsOf(empty, 0).failed).toBe(1);
  rmSync(folder, { recursive: true });
});
