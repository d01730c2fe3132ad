import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of stories260k on the test server, ending in "/"; "" where it is absent. */
    storiesUrl: string;
  }
}
