/** Long texts: nodes are bounded, the page's thread stays free, nothing that is seen moves. */
import { traceWriting } from "../scripts/page-thread.mjs";
import { expect, test } from "./fixtures";
import { nodeCount, useScript, writeOn } from "./scripted-generator";

for (const [name, piece, limit] of [
  ["in lines", "some words\n", 1000],
  ["in one paragraph", " words and", 250],
] as const)
  test(`20,000 tokens ${name} take few nodes, and at 60 a second at most a tenth of a core`, async ({ page }) => {
    test.setTimeout(180_000);
    await page.goto("./embed.html?prompt=Long");
    await useScript(page, { piece, perSecond: 60, shown: 20_000 - 240 });
    await page.evaluate(() => {
      const shifts: number[] = [];
      Object.assign(globalThis, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) shifts.push((entry as PerformanceEntry & { value: number }).value);
      }).observe({ type: "layout-shift" });
    });
    const { cpuMs, elapsedMs } = await traceWriting(page, () => writeOn(page, 240));
    const percent = (100 * cpuMs) / elapsedMs;
    const nodes = await nodeCount(page);
    const shifts = await page.evaluate(() => (globalThis as unknown as { shifts: number[] }).shifts);
    const numbers = `${percent.toFixed(2)} % of a core, ${nodes} nodes`;
    test.info().annotations.push({ type: "long text", description: numbers });
    expect(await page.locator("word-loom").evaluate((loom) => (loom as unknown as { text: string }).text.length)).toBe(
      20_000 * piece.length,
    );
    expect(nodes).toBeLessThan(limit);
    expect(shifts).toEqual([]);
    expect(elapsedMs).toBeGreaterThan(3500);
    expect(percent).toBeLessThanOrEqual(10);
  });
