import { LitElement, html, nothing, type PropertyValues } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { GenerationEnd } from "../generator";
import { sharedGenerators } from "../shared-generators";
import { loadKey } from "../word-loom/options";
import type { WordLoom } from "../word-loom/word-loom";
import * as words from "../words/inspector";
import { followLanguage } from "../words/localization";
import { Branches, type Branch } from "./branches";
import "./cache-compare";
import { cardStyles } from "./card-styles";
import { placeOf, roomFor, type CardPlace } from "./card-place";
import type { SamplerSettings } from "./cut";
import { inspectorStyles } from "./inspector-styles";
import { cacheTemplate, numbersTemplate, speedsTemplate } from "./sections";
import { SHADE_COUNT } from "./shades";
import { Shading } from "./shading";
import { sharedStyles } from "./shared-styles";
import { styled } from "./styled";
import { cardTemplate, type CardActions } from "./token-card";
import { TextPointer } from "./text-pointer";
import { visibleText } from "./visible-text";

/** Between two looks at a text that grows: each lays out the plots and shades the text anew. */
const LOOK_INTERVAL_MS = 300;

/**
 * Looks into the text of a `<word-loom>`, where it stands: shades its tokens by their probability, shows what else could
 * have stood in each one's place and branches from there, and shows the numbers of the whole text, its KV cache, and
 * what writing without one would take. While it is in the page, the element's runs ask for what it shows.
 */
@customElement("wordloom-inspector")
export class WordloomInspector extends LitElement {
  static override styles = [sharedStyles, inspectorStyles, cardStyles];

  /** The element whose text is looked at. */
  @property({ attribute: false }) loom: WordLoom | undefined;

  /** The token that was chosen; its card stays. */
  @state() private pinned: number | undefined;
  @state() private hovered: number | undefined;
  @state() private place: CardPlace = { kind: "sheet" };
  @state() private end: GenerationEnd | undefined;
  @state() private promptTokens: { prompt: string; count: number } | undefined;
  /** Of the branch that was written last. */
  @state() private reused: { cached: number; prompt: number } | undefined;

  readonly #branches = new Branches();
  /** By the number of the first token they hold for. */
  #settings: { from: number; settings: SamplerSettings }[] = [];
  #shading: Shading | undefined;
  #pointer: TextPointer | undefined;
  #lookTimer: ReturnType<typeof setTimeout> | undefined;
  #observer: MutationObserver | undefined;
  #resize: ResizeObserver | undefined;
  #isBranching = false;
  /** That have ended while it looked. */
  #runs = 0;

  constructor() {
    super();
    followLanguage(this);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.loom) this.#attach(this.loom);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this.loom) this.#detach(this.loom);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("loom")) return;
    const former = changed.get("loom");
    if (former) this.#detach(former);
    if (this.loom && this.isConnected) this.#attach(this.loom);
  }

  #attach(loom: WordLoom): void {
    if (this.#shading) return; // connected and given its element in one turn
    loom.inspect = true;
    this.#shading = new Shading(loom);
    this.#pointer = new TextPointer(loom, {
      hover: (index) => (this.hovered = index),
      choose: (index) => this.#pin(index),
    });
    loom.addEventListener("generated-token", this.#onToken);
    loom.addEventListener("generation-end", this.#onEnd);
    // A reset or another text has no event, and the page may set a text by itself.
    this.#observer = new MutationObserver(this.#lookSoon);
    this.#observer.observe(loom.renderRoot, { childList: true, characterData: true, subtree: true });
    this.#observer.observe(loom, { attributeFilter: ["state"] });
    this.#resize = new ResizeObserver(this.#lookSoon);
    this.#resize.observe(loom);
    window.addEventListener("scroll", this.#lookSoon, { passive: true });
    window.addEventListener("resize", this.#lookSoon);
    document.addEventListener("keydown", this.#onKey);
    this.#look();
  }

  #detach(loom: WordLoom): void {
    loom.inspect = false;
    this.#shading?.remove();
    this.#shading = undefined;
    this.#pointer?.remove();
    loom.removeEventListener("generated-token", this.#onToken);
    loom.removeEventListener("generation-end", this.#onEnd);
    this.#observer?.disconnect();
    this.#resize?.disconnect();
    window.removeEventListener("scroll", this.#lookSoon);
    window.removeEventListener("resize", this.#lookSoon);
    document.removeEventListener("keydown", this.#onKey);
    clearTimeout(this.#lookTimer);
    this.#lookTimer = undefined;
    this.#branches.clear();
    this.pinned = undefined;
    this.hovered = undefined;
  }

  #lookSoon = (): void => {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined;
      this.#look();
    }, LOOK_INTERVAL_MS);
  };

  /** Brings everything in line with the text as it is now. */
  #look(): void {
    const { loom } = this;
    if (!loom) return;
    const count = loom.tokens.length;
    if (count === 0 && !this.#isBranching) {
      this.#branches.clear();
      this.#settings = [];
      this.reused = undefined;
    }
    if (this.pinned !== undefined && this.pinned >= count) this.pinned = undefined;
    if (this.hovered !== undefined && this.hovered >= count) this.hovered = undefined;
    this.place = placeOf(roomFor(loom));
    this.#shading?.update();
    void this.#countPrompt(loom);
    this.requestUpdate();
  }

  async #countPrompt(loom: WordLoom): Promise<void> {
    const { prompt, info } = loom;
    if (!info || info.backend === "remote" || this.promptTokens?.prompt === prompt) return;
    if (loom.state !== "ready" && loom.state !== "generating") return;
    this.promptTokens = { prompt, count: 0 };
    try {
      const lease = await sharedGenerators.acquire(loadKey(loom), () => Promise.reject(new Error("not loaded")), {
        signal: new AbortController().signal,
        onProgress: () => undefined,
      });
      try {
        this.promptTokens = { prompt, count: (await lease.generator.tokenize(prompt)).length };
      } finally {
        lease.release();
      }
    } catch {
      this.promptTokens = undefined; // the model has gone meanwhile; the next look counts anew
    }
  }

  #onToken = (event: CustomEvent<{ tokens: readonly unknown[] }>): void => {
    const { loom } = this;
    if (!loom) return;
    const from = loom.tokens.length - event.detail.tokens.length;
    if (from === 0 && !this.#isBranching) {
      this.#branches.clear();
      this.reused = undefined;
    }
    const settings = settingsOf(loom);
    this.#settings = this.#settings.filter((one) => one.from < from);
    if (JSON.stringify(this.#settings.at(-1)?.settings) !== JSON.stringify(settings)) {
      this.#settings.push({ from, settings });
    }
    this.#lookSoon();
  };

  #onEnd = (event: CustomEvent<GenerationEnd>): void => {
    this.end = event.detail;
    this.#runs += 1;
    const { promptTokens: prompt, cachedTokens: cached } = event.detail.usage;
    if (this.#isBranching) this.reused = { cached, prompt };
    this.#isBranching = false;
    this.#lookSoon();
  };

  #onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.defaultPrevented || this.pinned === undefined) return;
    event.preventDefault();
    this.#close();
  };

  #close = (): void => {
    const hadFocus = this.shadowRoot?.activeElement?.closest(".card");
    this.pinned = undefined;
    if (hadFocus) this.renderRoot.querySelector<HTMLElement>("#walk")?.focus();
  };

  #pin(index: number | undefined): void {
    this.pinned = index;
  }

  #walk = async (): Promise<void> => {
    this.pinned ??= 0;
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>(".strip")?.focus({ preventScroll: true });
  };

  readonly #cardActions: CardActions = {
    move: (index) => this.#pin(index),
    branch: ({ id, text }) => void this.#branch(id, text),
    close: this.#close,
    toAlternatives: () => this.renderRoot.querySelector<HTMLElement>(".alternatives button")?.focus(),
  };

  async #branch(id: number, text: string): Promise<void> {
    const { loom, pinned: index } = this;
    const token = index === undefined ? undefined : loom?.tokens[index];
    if (!loom || index === undefined || !token) return;
    loom.stop();
    this.#branches.begin(loom, {
      index,
      token: visibleText(text),
      before: visibleText(token.text, token.bytes ?? undefined),
    });
    this.#isBranching = true;
    const branched = loom.branch(index, id);
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>(".strip")?.focus({ preventScroll: true });
    await branched;
    this.#isBranching = false;
  }

  #showBranch(branch: Branch): void {
    if (!this.loom) return;
    this.#branches.show(this.loom, branch);
    this.reused = undefined;
    this.pinned = branch.place?.index;
    this.#look();
  }

  protected override updated(): void {
    const { loom } = this;
    if (!loom || !this.#shading) return;
    this.#shading.markCursor(this.pinned);
    this.#shading.markHovered(this.hovered === this.pinned ? undefined : this.hovered);
    this.renderRoot
      .querySelector('.strip [aria-selected="true"]')
      ?.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });
    if (this.pinned !== undefined) this.#keepInSight(this.pinned);
  }

  /** The page scrolls only as far as the token would else be out of the window, or under the sheet. */
  #keepInSight(index: number): void {
    if (this.#shown === index || !this.loom) return;
    this.#shown = index;
    const token = this.loom.tokens[index];
    const box = token && this.loom.rangeOf(token.start, token.end).getBoundingClientRect();
    if (!box || box.height === 0) return;
    const card = this.renderRoot.querySelector(".card")?.getBoundingClientRect();
    const bottom = this.place.kind === "sheet" && card ? card.top : window.innerHeight;
    if (box.top < 0) window.scrollBy({ top: box.top - box.height, behavior: "instant" });
    else if (box.bottom > bottom) window.scrollBy({ top: box.bottom - bottom + box.height, behavior: "instant" });
  }

  /** The token that was last brought into sight. */
  #shown: number | undefined;

  override render() {
    const { loom } = this;
    const tokens = loom?.tokens ?? [];
    return html`
      <div role="region" aria-labelledby="title">
        <h2 id="title">${words.title()}</h2>
        ${tokens.length === 0 ? html`<p>${words.nothingYet()}</p>` : this.#textTemplate(loom)}
        ${tokens.length === 0 ? nothing : speedsTemplate(this.end, this.#runs < 2)}
        ${cacheTemplate(loom?.info, this.promptTokens?.count, tokens.length)}
        <wordloom-cache-compare
          .loom=${loom}
          .ready=${loom?.state === "ready" && loom.info?.backend !== "remote" && loom.prompt !== ""}
        ></wordloom-cache-compare>
      </div>
      ${this.#cardTemplate(loom)}
    `;
  }

  #textTemplate(loom: WordLoom | undefined) {
    const tokens = loom?.tokens ?? [];
    const known = tokens.some(({ top }) => top !== undefined);
    return html`
      <p>${words.lead()}</p>
      <div
        class="legend"
        role="img"
        aria-label="${words.legendLabel()}: ${words.legendSure()} – ${words.legendUnsure()}"
      >
        <span>${words.legendSure()}</span>
        <span class="ramp"
          >${Array.from({ length: SHADE_COUNT }, (_, shade) => html`<span class="shade-${shade}"></span>`)}</span
        >
        <span>${words.legendUnsure()}</span>
      </div>
      <p class="note">${known ? words.howToLook() : words.notAsked()}</p>
      <div class="controls"><button id="walk" type="button" @click=${this.#walk}>${words.walk()}</button></div>
      ${this.#branchesTemplate()} ${numbersTemplate(tokens, (index) => this.#pin(index))}
    `;
  }

  #branchesTemplate() {
    const { list, current } = this.#branches;
    if (list.length === 0) return nothing;
    return html`
      <h3 id="branches-title">${words.branches()}</h3>
      ${this.reused ? html`<p role="status">${words.reused(this.reused.cached, this.reused.prompt)}</p>` : nothing}
      <ul class="tree" aria-labelledby="branches-title">
        ${list.map((branch) => {
          const { place } = branch;
          const name = place ? words.branchAt(place.index + 1, place.token, place.before) : words.firstText();
          return html`<li ${styled({ "--depth": String(branch.depth) })}>
            ${
              branch === current
                ? html`<span class="here" aria-current="true"><strong>${name}</strong> · ${words.shownNow()}</span>`
                : html`<button type="button" aria-label=${words.backTo(name)} @click=${() => this.#showBranch(branch)}>
                    ${name}
                  </button>`
            }
          </li>`;
        })}
      </ul>
    `;
  }

  #cardTemplate(loom: WordLoom | undefined) {
    const { place, pinned } = this;
    // A sheet from below covers text, so it comes only when it is asked for.
    const index = pinned ?? (place.kind === "sheet" ? undefined : this.hovered);
    if (!loom || index === undefined) return nothing;
    const settings = this.#settings.findLast(({ from }) => from <= index)?.settings;
    const state = {
      ...{ tokens: loom.tokens, index, pinned: pinned !== undefined, settings },
      vocabSize: loom.info?.vocabSize,
    };
    return html`
      <aside
        class="card"
        aria-label=${words.cardLabel()}
        data-place=${place.kind}
        ${styled(place.kind === "sheet" ? {} : { "--room": `${place.width}px` })}
      >
        ${cardTemplate(state, this.#cardActions)}
      </aside>
    `;
  }
}

/** What the element's runs ask of the sampler now. */
function settingsOf(loom: WordLoom): SamplerSettings {
  const { temperature, topK, topP, minP, repetitionPenalty, seed } = loom;
  // A page may hand on options that have no attribute; they act on the draw like the others.
  const more = "moreOptions" in loom ? (loom.moreOptions as SamplerSettings | undefined) : undefined;
  const set = { temperature, topK, topP, minP, repetitionPenalty, seed };
  return { ...more, ...Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined)) };
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-inspector": WordloomInspector;
  }
}
