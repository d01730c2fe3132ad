/** How much memory a worker's JavaScript holds while a model of 1 GiB goes through it to the GPU. */
import type { CDPSession, Page } from "@playwright/test";
import { expect, test } from "../fixtures";
import { loom } from "../loom";
import { serveCheckpoint, WIDE } from "./checkpoint-server";

const MIB = 2 ** 20;
const PIECE_BYTES = 4 * MIB;
const SAMPLE_INTERVAL_MS = 50;

/** Asks the page's worker over DevTools, through its page's session. */
class WorkerSession {
  #nextId = 1;
  readonly #waiting = new Map<number, (result: Record<string, number>) => void>();

  private constructor(
    private readonly page: CDPSession,
    private readonly sessionId: string,
  ) {
    page.on("Target.receivedMessageFromTarget", ({ sessionId: from, message }) => {
      if (from !== this.sessionId) return;
      const { id, result } = JSON.parse(message) as { id: number; result: Record<string, number> }; // DevTools' answer
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  /** Of the first worker that the page starts. */
  static async open(page: Page): Promise<{ opened: Promise<WorkerSession> }> {
    const session = await page.context().newCDPSession(page);
    const opened = new Promise<WorkerSession>((resolve) => {
      session.on("Target.attachedToTarget", ({ sessionId, targetInfo }) => {
        if (targetInfo.type === "worker") resolve(new WorkerSession(session, sessionId));
      });
    });
    await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
    return { opened };
  }

  /** Bytes of ArrayBuffers and of other memory that JavaScript objects own outside of their heap, garbage included. */
  async backingStorageBytes(): Promise<number> {
    const id = this.#nextId++;
    const answer = new Promise<Record<string, number>>((resolve) => this.#waiting.set(id, resolve));
    const message = JSON.stringify({ id, method: "Runtime.getHeapUsage" });
    await this.page.send("Target.sendMessageToTarget", { sessionId: this.sessionId, message });
    const { backingStorageSize } = await answer;
    if (backingStorageSize === undefined) throw new Error("this browser does not tell backingStorageSize");
    return backingStorageSize;
  }
}

test.use({ expectedErrors: [/404/] });

test("a worker that loads 1 GiB never holds 64 MiB and one piece", async ({ page }) => {
  const server = await serveCheckpoint(WIDE);
  expect(server.sizeBytes).toBeGreaterThanOrEqual(1024 * MIB);
  await page.route("**/models/big/**", (route) =>
    route.continue({ url: server.url + (route.request().url().split("/").at(-1) ?? "") }),
  );
  const { opened } = await WorkerSession.open(page);
  await page.goto("./?model=models/big&dtype=q4");
  const worker = await opened;

  const samples: number[] = [];
  const start = performance.now();
  let state: string | null = "";
  while (state !== "ready" && state !== "failed") {
    samples.push(await worker.backingStorageBytes());
    await page.waitForTimeout(SAMPLE_INTERVAL_MS);
    state = await loom(page).getAttribute("state");
  }
  const seconds = (performance.now() - start) / 1000;
  if (state === "failed") throw new Error((await page.getByRole("alert").textContent()) ?? "loading failed");
  const peak = Math.max(...samples);
  const weights = await loom(page).evaluate(
    (element: HTMLElement & { info?: { bytes: { weights: number } } }) => element.info?.bytes.weights,
  );
  const inMib = (bytes: number) => (bytes / MIB).toFixed(1);
  const sorted = samples.toSorted((a, b) => a - b);
  console.log(
    `1 GiB in ${seconds.toFixed(1)} s to ${inMib(weights ?? 0)} MiB of weights; ArrayBuffers of the worker: peak ` +
      `${inMib(peak)} MiB, median ${inMib(sorted[sorted.length >> 1] ?? 0)} MiB of ${samples.length} samples`,
  );
  expect(peak).toBeGreaterThan(PIECE_BYTES); // the piece itself is seen, so the measuring works
  expect(peak).toBeLessThan(64 * MIB + PIECE_BYTES);
  await server.close();
});
