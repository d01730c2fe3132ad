export declare function serve(
  folder: string,
  options?: { port?: number; bytesPerSecond?: number },
): Promise<{ url: string; close(): Promise<void> }>;
