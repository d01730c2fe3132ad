/** Where the next message is typed, and what it will take. */
import { html, nothing, type TemplateResult } from "lit";
import type { GenerationEnd } from "../../generator";
import { formatTokensPerSecond } from "../../word-loom/format";
import * as words from "../../words/page-chat";

export interface ComposerState {
  /** The model's. */
  name: string;
  draft: string;
  isEmpty: boolean;
  isWriting: boolean;
  positions: number | undefined;
  contextLength: number | undefined;
  lastEnd: GenerationEnd | undefined;
}

export interface ComposerActions {
  type(draft: string): void;
  send(): void;
  stop(): void;
  clear(): void;
}

export function composerTemplate(state: ComposerState, actions: ComposerActions): TemplateResult {
  const { name, draft, isEmpty, isWriting } = state;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    actions.send();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    actions.send();
  };
  return html`
    ${
      isEmpty
        ? html`<div class="intro">
            <p class="lead">${words.lead()}</p>
            <p>${words.staysHere(name)}</p>
          </div>`
        : nothing
    }
    <form class="composer" @submit=${submit}>
      <textarea
        id="chat-message"
        rows="2"
        dir="auto"
        enterkeyhint="send"
        aria-label=${words.yourMessage()}
        aria-describedby="chat-positions"
        placeholder=${words.placeholder()}
        .value=${draft}
        @input=${(event: Event) => actions.type((event.target as HTMLTextAreaElement).value)}
        @keydown=${onKey}
      ></textarea>
      <p class="choices">
        ${
          isWriting
            ? html`<button type="button" class="primary" @click=${actions.stop}>${words.stop()}</button>`
            : html`<button type="submit" class="primary">${words.send()}</button>`
        }
        ${isEmpty ? nothing : html`<button type="button" @click=${actions.clear}>${words.newChat()}</button>`}
      </p>
      <p class="status"><span>${name}</span> ${speedTemplate(state)} ${positionsTemplate(state)}</p>
    </form>
  `;
}

function speedTemplate({ lastEnd }: ComposerState): TemplateResult | typeof nothing {
  const speed = lastEnd?.timings.decodeTokensPerSecond;
  return speed ? html`<span>${formatTokensPerSecond(speed)}</span>` : nothing;
}

/** Always there, for `aria-describedby`. */
function positionsTemplate({ positions, contextLength, draft }: ComposerState): TemplateResult {
  if (positions === undefined || contextLength === undefined) return html`<span id="chat-positions"></span>`;
  if (positions > contextLength) {
    return html`<span id="chat-positions" class="too-long">${words.tooLong(positions, contextLength)}</span>`;
  }
  const told = draft === "" ? words.positionsUsed(positions, contextLength) : words.positions(positions, contextLength);
  return html`<span id="chat-positions">${told}</span>`;
}
