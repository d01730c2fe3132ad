/** What one token says when it is looked at: its numbers, and what could have stood in its place. */
import { html, nothing, type TemplateResult } from "lit";
import { classMap } from "lit/directives/class-map.js";
import type { WrittenToken } from "../word-loom/written-token";
import * as words from "../words/inspector";
import { cutOf, type Cut, type CutAlternative, type Interval, type SamplerSettings } from "./cut";
import { formatNats, formatShare } from "./numbers";
import { styled } from "./styled";
import { visibleText } from "./visible-text";

/** Tokens shown on either side of the one that is looked at. */
const STRIP_REACH = 12;

export interface CardState {
  tokens: readonly WrittenToken[];
  index: number;
  /** It stays until it is closed; else it goes with the pointer. */
  pinned: boolean;
  /** What was asked of the sampler when it was written; undefined: not known. */
  settings: SamplerSettings | undefined;
  vocabSize: number | undefined;
}

export interface CardActions {
  move(index: number): void;
  branch(alternative: { id: number; text: string }): void;
  close(): void;
  toAlternatives(): void;
}

export function cardTemplate(state: CardState, actions: CardActions): TemplateResult {
  const { tokens, index, pinned } = state;
  const token = tokens[index];
  if (!token) return html``;
  return html`
    <div class="card-head">
      <h3>${words.tokenOf(index + 1, tokens.length)}</h3>
      ${
        pinned
          ? html`<button type="button" class="close" aria-label=${words.close()} @click=${actions.close}>×</button>`
          : nothing
      }
    </div>
    ${stripTemplate(state, actions)}
    <dl class="facts">
      ${fact(words.probability(), formatShare(Math.exp(token.logprob)), words.probabilityHelp())}
      ${fact(words.rank(), rankOf(token, state.vocabSize), words.rankHelp())}
      ${fact(words.logProbability(), formatNats(token.logprob), words.logProbabilityHelp())}
      ${fact(
        words.entropy(),
        token.entropy === undefined ? words.unknown() : words.nats(formatNats(token.entropy)),
        words.entropyHelp(),
      )}
      ${fact(words.tokenId(), token.id === null ? words.unknown() : String(token.id), words.tokenIdHelp())}
    </dl>
    ${token.top ? alternativesTemplate(token, state, actions) : html`<p class="note">${words.notAsked()}</p>`}
  `;
}

function rankOf({ rank }: WrittenToken, vocabSize: number | undefined): string {
  if (rank === undefined) return words.unknown();
  return vocabSize === undefined ? String(rank) : words.rankOf(rank, vocabSize);
}

function fact(name: string, value: string, help: string): TemplateResult {
  return html`<div title=${help}>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

/** A list box with the tokens around the one that is looked at: arrow keys go through the text. */
function stripTemplate({ tokens, index }: CardState, actions: CardActions): TemplateResult {
  const first = Math.max(0, index - STRIP_REACH);
  const shown = tokens.slice(first, index + STRIP_REACH + 1);
  const onKey = (event: KeyboardEvent) => {
    const targets: Record<string, number> = {
      ArrowLeft: index - 1,
      ArrowUp: index - 1,
      ArrowRight: index + 1,
      ArrowDown: index + 1,
      PageUp: index - 10,
      PageDown: index + 10,
      Home: 0,
      End: tokens.length - 1,
    };
    const target = targets[event.key];
    if (target !== undefined) actions.move(Math.max(0, Math.min(target, tokens.length - 1)));
    else if (event.key === "Enter") actions.toAlternatives();
    else return;
    event.preventDefault();
  };
  return html`
    <div
      class="strip"
      role="listbox"
      tabindex="0"
      aria-label=${words.stripLabel()}
      aria-describedby="strip-help"
      aria-orientation="horizontal"
      aria-activedescendant="strip-${index}"
      @keydown=${onKey}
    >
      ${shown.map((token, offset) => {
        const at = first + offset;
        const seen = visibleText(token.text, token.bytes ?? undefined);
        return html`<span
          id="strip-${at}"
          role="option"
          aria-selected=${at === index}
          aria-setsize=${tokens.length}
          aria-posinset=${at + 1}
          aria-label=${words.optionLabel(seen, formatShare(Math.exp(token.logprob)))}
          @click=${() => actions.move(at)}
          >${seen}</span
        >`;
      })}
    </div>
    <p id="strip-help" class="hidden">${words.stripHelp()}</p>
  `;
}

function alternativesTemplate(token: WrittenToken, state: CardState, actions: CardActions): TemplateResult {
  const { settings, vocabSize } = state;
  const known = (token.top ?? []).flatMap(({ id, text, logprob }) => (id === null ? [] : [{ id, text, logprob }]));
  const cut = cutOf(known, settings ?? {}, vocabSize ?? known.length);
  // What acted before or beside the cuts would make the numbers after them wrong: then they are not shown.
  const told = settings !== undefined && cut.untold.every((each) => each === "typicalP");
  let cutShown: string | undefined;
  const isListed = known.some(({ id }) => id === token.id);
  return html`
    <h4>${words.alternatives()}</h4>
    <p class="note">${words.alternativesHelp()}</p>
    <ol class="alternatives">
      ${cut.alternatives.map((alternative) => {
        const reason = told ? alternative.cutBy : undefined;
        const line = reason !== undefined && reason !== cutShown ? cutLabel(reason, settings ?? {}) : undefined;
        cutShown = reason ?? cutShown;
        return html`${line ? html`<li class="cut-line"><span>${line}</span></li>` : nothing}
        ${alternativeTemplate(alternative, { token, state, told }, actions)}`;
      })}
      ${isListed ? nothing : chosenBeyond(token)} ${restTemplate(cut, told, vocabSize, known.length)}
    </ol>
    ${notesOf(cut, settings, told, known.length).map((note) => html`<p class="note">${note}</p>`)}
  `;
}

function cutLabel(cutBy: NonNullable<CutAlternative["cutBy"]>, settings: SamplerSettings): string {
  if (cutBy === "topK") return words.cutByTopK(String(settings.topK));
  if (cutBy === "topP") return words.cutByTopP(String(settings.topP));
  if (cutBy === "minP") return words.cutByMinP(String(settings.minP));
  if (cutBy === "typicalP") return words.cutByTypicalP(String(settings.typicalP));
  return words.cutByTemperature();
}

function alternativeTemplate(
  { id, text, base, final, cutBy, uncertain }: CutAlternative,
  { token, state, told }: { token: WrittenToken; state: CardState; told: boolean },
  actions: CardActions,
): TemplateResult {
  const seen = visibleText(text);
  const isWritten = id === token.id;
  const struck = told && cutBy !== undefined;
  const reason = struck ? words.cutAway(cutLabel(cutBy, state.settings ?? {})) : "";
  const content = html`
    <span class="piece">${isWritten ? html`<span aria-hidden="true">✓</span>` : nothing}${seen}</span>
    ${barTemplate(base, told ? final : undefined)}
    <span class="share">${formatShare(base)}</span>
    <span class="share after">${told ? formatFinal(final, uncertain) : nothing}</span>
    ${struck ? html`<span class="hidden">${reason}</span>` : nothing}
  `;
  const classes = classMap({ row: true, struck, written: isWritten });
  if (isWritten || !state.pinned) {
    return html`<li>
      <div class=${classes} title=${isWritten ? words.written() : nothing}>
        <span class="hidden">${isWritten ? words.writtenToken(seen, formatShare(base)) : nothing}</span>${content}
      </div>
    </li>`;
  }
  const label = `${words.branchWith(seen, formatShare(base))}${struck ? `; ${reason}` : ""}`;
  return html`<li>
    <button type="button" class=${classes} aria-label=${label} @click=${() => actions.branch({ id, text })}>
      ${content}
    </button>
  </li>`;
}

/** The model's own probability as an outline, what the draw made of it as a filling. */
function barTemplate(base: number, final: Interval | undefined): TemplateResult {
  const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
  const middle = final ? (final.low + final.high) / 2 : base;
  return html`<span class="bar" aria-hidden="true"
    ><span class="final" ${styled({ "inline-size": percent(middle) })}></span
    ><span class="base" ${styled({ "inline-size": percent(base) })}></span
  ></span>`;
}

/** One number where the ends round to the same, else the range. */
function formatFinal({ low, high }: Interval, uncertain: boolean): string {
  if (uncertain && low === 0) return words.maybe(formatShare(high));
  const [from, to] = [formatShare(low), formatShare(high)];
  return from === to || high - low < 0.005 ? formatShare((low + high) / 2) : `${from.replace(/\s%$/, "")}–${to}`;
}

/** A token that was drawn although it is none of the likeliest. */
function chosenBeyond(token: WrittenToken): TemplateResult {
  const seen = visibleText(token.text, token.bytes ?? undefined);
  const base = Math.exp(token.logprob);
  return html`<li>
    <div class="row written" title=${words.written()}>
      <span class="hidden">${words.writtenToken(seen, formatShare(base))}</span>
      <span class="piece"><span aria-hidden="true">✓</span>${seen}</span>${barTemplate(base, undefined)}<span
        class="share"
        >${formatShare(base)}</span
      >
      <span class="share after"></span>
    </div>
  </li>`;
}

function restTemplate({ restBase, restFinal }: Cut, told: boolean, vocabSize: number | undefined, known: number) {
  if (vocabSize === undefined || vocabSize <= known) return nothing;
  return html`<li>
    <div class=${classMap({ row: true, struck: told && restFinal.high === 0 })}>
      <span class="piece plain">${words.rest(vocabSize - known)}</span>
      ${barTemplate(restBase, told ? restFinal : undefined)}
      <span class="share">${formatShare(restBase)}</span>
      <span class="share after">${told ? formatFinal(restFinal, false) : nothing}</span>
    </div>
  </li>`;
}

function notesOf(cut: Cut, settings: SamplerSettings | undefined, told: boolean, known: number): string[] {
  if (settings === undefined) return [words.modelAlone()];
  const notes: string[] = [];
  if (cut.temperature === 0) notes.push(words.greedyHere());
  else if (told) notes.push(words.drawnAt(String(cut.temperature)));
  for (const untold of cut.untold) {
    if (untold === "penalties") notes.push(words.untoldPenalties());
    else if (untold === "topNSigma") notes.push(words.untoldSigma());
    else if (untold === "xtc") notes.push(words.untoldXtc());
    else notes.push(words.untoldTypical());
  }
  if (cut.restFinal.high > cut.restFinal.low) notes.push(words.onlyTop(known));
  return notes;
}
