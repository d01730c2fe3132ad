/** One message with its answer, and what can be done with them. */
import { html, nothing, type TemplateResult } from "lit";
import { takeSentences } from "../../word-loom/sentences";
import * as words from "../../words/page-chat";
import type { Answer, Turn } from "./chat-session";
import { messageTemplate } from "./message-text";

export interface TurnActions {
  /** Undefined: nothing is edited any more. */
  edit(turn: Turn | undefined): void;
  sendInstead(turn: Turn, message: string): void;
  show(turn: Turn, step: -1 | 1): void;
  versions(turn: Turn): { at: number; count: number };
}

const reducedMotion = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

export function turnTemplate(
  turn: Turn,
  { isEdited, isWriting }: { isEdited: boolean; isWriting: boolean },
  actions: TurnActions,
): TemplateResult {
  const { answer, message } = turn;
  return html`
    <li class="turn">
      <div class="said">
        <h3 class="unseen">${words.youSaid()}</h3>
        ${
          isEdited
            ? editTemplate(turn, actions)
            : html`<p dir="auto">${message}</p>
                <p class="acts ${isWriting ? "waiting" : ""}">
                  ${copyButton(message)}
                  <button type="button" class="edit" @click=${() => actions.edit(turn)}>${words.edit()}</button>
                </p>`
        }
      </div>
      <div class="answer">
        <h3 class="unseen">${words.modelSaid()}</h3>
        ${answer.reasoning === "" ? nothing : reasoningTemplate(answer)} ${answerTemplate(answer)}
        ${noteOf(answer) === "" ? nothing : html`<p class="note">${noteOf(answer)}</p>`}
        <p class="acts ${isWriting ? "waiting" : ""}">
          ${versionsTemplate(turn, actions)} ${copyButton(answer.text)}
          <button type="button" @click=${() => actions.sendInstead(turn, message)}>${words.regenerate()}</button>
        </p>
      </div>
    </li>
  `;
}

function answerTemplate({ text, reasoning, state }: Answer): TemplateResult {
  if (state === "writing" && text === "" && reasoning === "") {
    return html`<p class="note">${words.reading()}</p>`;
  }
  const bySentences = state === "writing" && reducedMotion?.matches === true;
  return messageTemplate(bySentences ? takeSentences(text).whole : text);
}

function reasoningTemplate({ reasoning, text, state }: Answer): TemplateResult {
  const isThinking = state === "writing" && text === "";
  const wordCount = reasoning.split(/\s+/).filter((word) => word !== "").length;
  return html`
    <details class="reasoning">
      <summary>${isThinking ? words.thinking() : words.thought(wordCount)}</summary>
      ${messageTemplate(reasoning)}
    </details>
  `;
}

function noteOf({ state, end }: Answer): string {
  const dropped = end?.dropped?.turns ? words.dropped(end.dropped.turns) : "";
  const ended = state === "cut" ? words.cutByLength() : state === "stopped" ? words.stopped() : "";
  return [ended, dropped].filter((text) => text !== "").join(" ");
}

function versionsTemplate(turn: Turn, actions: TurnActions): TemplateResult | typeof nothing {
  const { at, count } = actions.versions(turn);
  if (count < 2) return nothing;
  const step = (by: -1 | 1, label: string, sign: string, isEnd: boolean) => html`
    <button type="button" aria-label=${label} ?disabled=${isEnd} @click=${() => actions.show(turn, by)}>${sign}</button>
  `;
  return html`
    <span class="versions">
      ${step(-1, words.earlier(), "‹", at === 0)}
      <span>${words.version(at + 1, count)}</span>
      ${step(1, words.later(), "›", at === count - 1)}
    </span>
  `;
}

function editTemplate(turn: Turn, actions: TurnActions): TemplateResult {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement; // the listener is on it
    const message = (new FormData(form).get("message") as string).trim(); // no file
    if (message !== "") actions.sendInstead(turn, message);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // it closes this, and nothing else
    actions.edit(undefined);
  };
  return html`
    <form @submit=${submit} @keydown=${onKey}>
      <textarea
        name="message"
        rows="2"
        dir="auto"
        aria-label=${words.editedMessage()}
        .value=${turn.message}
      ></textarea>
      <p class="choices">
        <button type="submit">${words.sendEdited()}</button>
        <button type="button" class="quiet" @click=${() => actions.edit(undefined)}>${words.cancel()}</button>
      </p>
    </form>
  `;
}

function copyButton(text: string): TemplateResult {
  const copy = async (event: Event) => {
    const button = event.currentTarget as HTMLButtonElement; // the listener is on it
    await navigator.clipboard.writeText(text);
    button.textContent = words.copied();
    setTimeout(() => (button.textContent = words.copy()), 1500);
  };
  return html`<button type="button" @click=${copy}>${words.copy()}</button>`;
}
