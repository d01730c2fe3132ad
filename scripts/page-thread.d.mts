import type { Page } from "@playwright/test";

export interface MainThreadTime {
  cpuMs: number;
  elapsedMs: number;
  tasks: number;
}

export declare function mainThreadTime(trace: { traceEvents: object[] }): MainThreadTime;
export declare function traceWriting(page: Page, write: () => Promise<void>): Promise<MainThreadTime>;
