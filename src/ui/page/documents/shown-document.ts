import type { ReactiveControllerHost } from "lit";
import type { Chat } from "../chat/chat";
import type { PageParts } from "../parts";
import type { Mode } from "../shell";
import type { PageDocument } from "./document";
import type { TextDesk } from "./text-desk";
import { documentId } from "./document-id";

/** What it asks of the page. */
export interface DocumentPage extends ReactiveControllerHost {
  mode: Mode;
  /** For the chat. */
  system: string;
  readonly parts: PageParts;
  readonly chat: Chat | null;
  readonly desk: TextDesk | null;
  /** The model, as a person calls it. */
  readonly modelTitle: string;
}

/** The text or chat that the page shows, and its being kept in this browser. */
export class ShownDocument {
  #document: PageDocument | undefined;
  /** Why the last one is not kept; "" where it is, or is not to be. */
  #notKept = "";
  #chatId: string = documentId();

  constructor(private readonly page: DocumentPage) {}

  /** As it was when it last changed; undefined where there is none. */
  get document(): PageDocument | undefined {
    return this.#document;
  }

  get notKept(): string {
    return this.#notKept;
  }

  /** Something of it is another: it is kept, if the reader wants that. */
  changed = async (): Promise<void> => {
    this.look();
    const kept = await this.page.parts.fetch(import("./kept-documents"));
    if (!this.#document || !kept?.keepsDocuments()) return;
    this.#notKept = await kept.keepDocument(this.#document).then(
      () => "",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    this.look(); // the list of what is kept has one more
  };

  /** Takes what is shown now. */
  look(): void {
    const { mode, desk, chat, modelTitle } = this.page;
    if (mode === "write") this.#document = desk?.document;
    else this.#document = chat ? { kind: "chat", id: this.#chatId, model: modelTitle, chat: chat.plain } : undefined;
    this.page.requestUpdate();
  }

  /** Shows one that was kept, in place of what is there. */
  async open(document: PageDocument): Promise<void> {
    const { page } = this;
    if (document.kind === "chat") {
      page.mode = "chat";
      page.system = document.chat.system;
      this.#chatId = document.id;
      await page.parts.openChat();
      page.chat?.restore(document.chat);
    } else {
      page.mode = "write";
      await page.parts.openDesk();
      page.desk?.open(document);
    }
    this.look();
  }

  /** Begins another one. */
  begin = (): void => {
    if (this.page.mode === "write") this.page.desk?.begin();
    else {
      this.#chatId = documentId();
      this.page.chat?.clear();
    }
    this.look();
  };
}
