import type { ReactiveControllerHost } from "lit";
import type { sheetTemplate } from "./side-sheet";

/** The parts of the page that are fetched when they are first opened. */
export class PageParts {
  /** Undefined until it has been fetched. */
  sheet: typeof sheetTemplate | undefined;
  hasChat = false;
  hasDesk = false;
  /** One that was asked for could not be fetched: the network may be gone. */
  failed = false;

  constructor(private readonly host: ReactiveControllerHost) {}

  /** Resolves when it can be rendered, or could not be fetched. So do the others. */
  async openSheet(): Promise<void> {
    this.sheet ??= (await this.fetch(import("./side-sheet")))?.sheetTemplate;
    this.host.requestUpdate();
    await this.host.updateComplete;
  }

  async openChat(): Promise<void> {
    this.hasChat ||= (await this.fetch(import("./chat/chat"))) !== undefined;
    this.host.requestUpdate();
    await this.host.updateComplete;
  }

  async openDesk(): Promise<void> {
    this.hasDesk ||= (await this.fetch(import("./documents/text-desk"))) !== undefined;
    this.host.requestUpdate();
    await this.host.updateComplete;
  }

  async fetch<Part>(part: Promise<Part>): Promise<Part | undefined> {
    try {
      const fetched = await part;
      this.failed = false;
      return fetched;
    } catch {
      this.failed = true; // and the page says so
      this.host.requestUpdate();
      return undefined;
    }
  }
}
