// Reads how many tests passed from the JSON reports of vitest and Playwright.
import { existsSync, readFileSync } from "node:fs";

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/**
 * @param {string | undefined} file a report of vitest or Playwright; undefined for a step that runs no tests
 * @param {number | null} code the step's exit code; a failed step counts as one failure even where no test has failed
 * @returns {Counts}
 */
export function countsOf(file, code) {
  const counts = file !== undefined && existsSync(file) ? countsIn(JSON.parse(readFileSync(file, "utf8"))) : noTests();
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  if (file !== undefined && counts.passed + counts.failed === 0) counts.failed = 1; // a test step that ran nothing
  return counts;
}

function noTests() {
  return { passed: 0, failed: 0, skipped: 0 };
}

/** @returns {Counts} */
export function countsIn(report) {
  if (report.stats) {
    const { expected, unexpected, flaky, skipped } = report.stats; // Playwright
    return { passed: expected, failed: unexpected + flaky, skipped };
  }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = report; // vitest
  return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests };
}

/** @param {Counts[]} list @returns {Counts} */
export function addCounts(list) {
  return list.reduce(
    (sum, { passed, failed, skipped }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
    }),
    noTests(),
  );
}

/** @param {Counts} counts @returns {string} */
export function closingLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
