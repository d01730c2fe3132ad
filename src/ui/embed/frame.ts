/** The frame's side of the protocol: what the page round it asks for is done by the element, which is heard in turn. */
import type { WordLoom } from "../word-loom/word-loom";
import { FORWARDED_EVENTS, VERSION, readPageMessage, type FrameMessage, type PageMessage } from "./protocol";

/** Connects `loom` with the window that holds this one, if it is of one of these origins. */
export function connectFrame(loom: WordLoom, origins: ReadonlySet<string>): void {
  /** Who said "connect"; nothing is told to anybody before. */
  let page: string | undefined;
  const tell = (message: FrameMessage) => {
    if (page !== undefined) window.parent.postMessage({ wordloom: VERSION, ...message }, page);
  };
  const tellState = () => tell({ type: "state", state: loom.state, text: loom.text });
  const tellSize = () => tell({ type: "size", height: Math.ceil(document.body.getBoundingClientRect().height) });

  window.addEventListener("message", ({ data, origin, source }) => {
    if (source !== window.parent || window.parent === window) return; // another frame of the page, or none round this
    const message = readPageMessage(data);
    if (message === undefined) return;
    if (!origins.has(origin)) {
      console.warn(`a message from ${origin} is not heard: this frame's address has no ?origin=${origin}`);
      return;
    }
    if (typeof message === "string") tellOnce(origin, { type: "refused", message });
    else if (message.type === "connect") {
      page = origin;
      tellState();
      tellSize();
    } else if (page === undefined) tellOnce(origin, { type: "refused", message: 'say "connect" first' });
    else doAs(message, loom);
  });
  for (const type of FORWARDED_EVENTS)
    loom.addEventListener(type, ({ detail }: CustomEvent) => tell({ type, detail: detail as unknown }));
  new MutationObserver(tellState).observe(loom, { attributeFilter: ["state"] });
  new ResizeObserver(tellSize).observe(document.body);
}

function tellOnce(origin: string, message: FrameMessage): void {
  window.parent.postMessage({ wordloom: VERSION, ...message }, origin);
}

function doAs(message: Exclude<PageMessage, { type: "connect" }>, loom: WordLoom): void {
  switch (message.type) {
    case "load":
      return void loom.load();
    case "generate":
      Object.assign(loom, message.options); // names and kinds of values were checked when it was read
      return void loom.generate(message.prompt);
    case "continue":
      return void loom.continue();
    case "stop":
      return loom.stop();
    case "reset":
      return loom.reset();
  }
}
