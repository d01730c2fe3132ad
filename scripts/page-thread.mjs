// How much of a core the page's own thread uses while text is written, from Chromium's trace.

/** No more than is needed: what DevTools records besides makes layout and paint half as slow again. */
const CATEGORIES = ["toplevel", "blink.user_timing"];
const BEGIN = "writing-begins";
const END = "writing-ends";

/**
 * Marks the first and the last token of the next run in the trace. Runs in the page.
 *
 * @param {{ begin: string, end: string }} marks
 */
function markRun({ begin, end }) {
  const { document, performance } = globalThis;
  document.addEventListener("generated-token", () => performance.mark(begin), { once: true });
  document.addEventListener("generation-end", () => performance.mark(end), { once: true });
}

/**
 * The processor time of all tasks on a renderer's main thread between two marks; workers and the GPU process are not
 * in it.
 *
 * @param {{ traceEvents: object[] }} trace
 * @returns {{ cpuMs: number, elapsedMs: number, tasks: number }}
 */
export function mainThreadTime({ traceEvents }) {
  const mark = (name) => {
    const found = traceEvents.find((event) => event.name === name && event.cat?.includes("blink.user_timing"));
    if (!found) throw new Error(`the trace has no mark "${name}"`);
    return found;
  };
  const [begin, end] = [mark(BEGIN), mark(END)];
  const onThread = traceEvents.filter(
    ({ pid, tid, ts, ph }) => pid === begin.pid && tid === begin.tid && ph === "X" && ts >= begin.ts && ts <= end.ts,
  );
  const thread = traceEvents.find(
    ({ name, pid, tid }) => name === "thread_name" && pid === begin.pid && tid === begin.tid,
  );
  if (thread?.args.name !== "CrRendererMain") throw new Error(`the marks are on ${thread?.args.name}`);
  // Each task once: what is nested in it is part of it.
  const tasks = onThread.filter(({ name }) => name === "ThreadControllerImpl::RunTask");
  if (tasks.length === 0) throw new Error("the trace has no tasks of the page's thread");
  return {
    cpuMs: tasks.reduce((sum, { tdur = 0 }) => sum + tdur / 1000, 0),
    elapsedMs: (end.ts - begin.ts) / 1000,
    tasks: tasks.length,
  };
}

/**
 * Traces the page while `write` lets its element write one text.
 *
 * @param {import("playwright").Page} page
 * @param {() => Promise<void>} write resolves after `generation-end`
 */
export async function traceWriting(page, write) {
  const browser = page.context().browser();
  if (!browser) throw new Error("the page belongs to no browser that can be traced");
  await page.evaluate(markRun, { begin: BEGIN, end: END });
  await browser.startTracing(page, { categories: CATEGORIES });
  await write();
  const trace = await browser.stopTracing();
  return mainThreadTime(JSON.parse(trace.toString("utf8")));
}
