/** What the page can keep, save and share: a text with its versions, or a chat with its branches. */
import type { PlainChat, PlainTurn } from "../chat/chat-session";
import type { Version } from "./versions";

interface Written {
  id: string;
  /** As a person calls it. */
  model: string;
}

export type PageDocument =
  | (Written & { kind: "text"; versions: readonly Version[]; at: number })
  | (Written & { kind: "chat"; chat: PlainChat });

/** The turns that are shown, from the first to the last. */
export function shownTurns({ turns, shown }: PlainChat): PlainTurn[] {
  const path: PlainTurn[] = [];
  for (let turn = turns[shown]; turn; turn = turn.next[turn.shown]) path.push(turn);
  return path;
}

export function isEmpty(document: PageDocument): boolean {
  return document.kind === "text" ? document.versions.length === 0 : document.chat.turns.length === 0;
}

const TITLE_LENGTH = 60;

/** Its first words; "" where there are none. */
export function titleOf(document: PageDocument): string {
  const version = document.kind === "text" ? document.versions[document.at] : undefined;
  const text =
    document.kind === "text" ? `${version?.prompt ?? ""}${version?.text ?? ""}` : shownTurns(document.chat)[0]?.message;
  const line = (text ?? "").replace(/\s+/g, " ").trim();
  return line.length <= TITLE_LENGTH ? line : `${line.slice(0, TITLE_LENGTH).replace(/\s\S*$/, "")} …`;
}

/** Who said what, in the document's words. */
export interface Names {
  you: string;
  model: string;
}

/** As it is read, without marks. */
export function asText(document: PageDocument, names: Names): string {
  if (document.kind === "text") return textOf(document);
  return shownTurns(document.chat)
    .flatMap(({ message, text }) => [`${names.you}: ${message}`, `${names.model}: ${text}`])
    .join("\n\n");
}

/** The reader's own words are strong in a text, and headed in a chat; answers stand as the model wrote them. */
export function asMarkdown(document: PageDocument, names: Names): string {
  if (document.kind === "text") {
    const { prompt = "", text = "" } = document.versions[document.at] ?? {};
    const lines = prompt
      .split("\n")
      .map((line) => (line.trim() === "" ? line : line.replace(/^(\s*)(.*?)(\s*)$/, "$1**$2**$3")));
    return `${lines.join("\n")}${text}\n`;
  }
  const said = shownTurns(document.chat).flatMap(({ message, text }) => [
    `### ${names.you}\n\n${message}`,
    `### ${names.model}\n\n${text}`,
  ]);
  return `${said.join("\n\n")}\n`;
}

/**
 * Everything that is known of it, versions and branches included.
 *
 * @param settings how it was written, as far as the page knows; JSON
 */
export function asJson(document: PageDocument, settings: object): string {
  const { kind, model } = document;
  const body = kind === "text" ? { versions: document.versions, shown: document.at } : { chat: document.chat };
  return `${JSON.stringify({ format: "wordloom", version: 1, kind, model, settings, ...body }, null, 2)}\n`;
}

function textOf({ versions, at }: PageDocument & { kind: "text" }): string {
  const version = versions[at];
  return version ? version.prompt + version.text : "";
}
