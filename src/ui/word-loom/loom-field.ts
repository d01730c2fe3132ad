import { property } from "lit/decorators.js";
import { textMissing, textUnfinished } from "../words/element";
import { LoomSettings } from "./loom-settings";

/** What the browser keeps of the element over a reload, or going back to the page. */
interface KeptState {
  prompt: string;
  text: string;
}

/**
 * `<word-loom>` as a field of a form: `text` is submitted under `name`, as of a textarea; the prompt under `prompt-name`,
 * where that is set. While a text is being written the form is not valid; with `required` neither without one.
 */
export abstract class LoomField extends LoomSettings {
  static readonly formAssociated = true;

  @property({ reflect: true }) name: string | undefined;
  @property({ attribute: "prompt-name" }) promptName: string | undefined;
  @property({ type: Boolean, reflect: true }) required = false;
  @property({ type: Boolean, reflect: true }) disabled = false;

  readonly #internals = this.attachInternals();
  #isDisabled = false;

  abstract get text(): string;
  protected abstract get isWriting(): boolean;
  /** Stops, and empties the text. */
  abstract reset(): void;
  abstract stop(): void;
  abstract replaceText(text: string): void;

  readonly type = "word-loom";

  /** As `text`. */
  get value(): string {
    return this.text;
  }

  get form(): HTMLFormElement | null {
    return this.#internals.form;
  }

  get labels(): NodeList {
    return this.#internals.labels;
  }

  get validity(): ValidityState {
    return this.#internals.validity;
  }

  get validationMessage(): string {
    return this.#internals.validationMessage;
  }

  get willValidate(): boolean {
    return this.#internals.willValidate;
  }

  checkValidity(): boolean {
    return this.#internals.checkValidity();
  }

  reportValidity(): boolean {
    return this.#internals.reportValidity();
  }

  /** The prompt gets the focus. */
  override focus(options?: FocusOptions): void {
    this.renderRoot.querySelector<HTMLElement>("#prompt")?.focus(options);
  }

  /** By its own attribute, or by a fieldset round it. */
  protected get isDisabled(): boolean {
    return this.#isDisabled;
  }

  /** Called by the browser. */
  formDisabledCallback(isDisabled: boolean): void {
    this.#isDisabled = isDisabled;
    if (isDisabled) this.stop();
    this.requestUpdate();
  }

  /** Called by the browser: the form is reset. The prompt is then the attribute's again. */
  formResetCallback(): void {
    this.prompt = this.getAttribute("prompt") ?? "";
    this.reset();
  }

  /** Called by the browser: the page was left, and is there again. */
  formStateRestoreCallback(state: string | File | FormData | null): void {
    if (typeof state !== "string") return; // the browser's own guess at a field; a text is not to be guessed
    const { prompt, text } = JSON.parse(state) as KeptState; // as it was given to the browser below
    this.prompt = prompt;
    this.replaceText(text);
  }

  /** Tells the form what is submitted, and whether it may be. */
  protected tellForm(): void {
    const { text, prompt, name, promptName } = this;
    const fields = new FormData();
    if (name) fields.append(name, text);
    if (promptName) fields.append(promptName, prompt);
    this.#internals.setFormValue(fields, JSON.stringify({ prompt, text } satisfies KeptState));
    const anchor = this.renderRoot?.querySelector<HTMLElement>("#prompt") ?? undefined;
    if (this.isWriting) this.#internals.setValidity({ customError: true }, textUnfinished(), anchor);
    else if (this.required && text === "") this.#internals.setValidity({ valueMissing: true }, textMissing(), anchor);
    else this.#internals.setValidity({});
  }

  protected override updated(changed: Map<PropertyKey, unknown>): void {
    super.updated(changed);
    this.tellForm();
  }
}
