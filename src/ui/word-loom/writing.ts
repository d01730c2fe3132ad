import { randomSeed } from "../../api/generate-options";
import { WordloomError } from "../../errors";
import type { GenerateOptions, GenerationEnd, Generator, TextChunk } from "../generator";
import { generateOptions, type AllGenerateSettings } from "./options";
import { Passage } from "./passage";
import { Written } from "./written";
import type { WrittenText } from "./written-text";
import type { SavedToken, WrittenToken } from "./written-token";

/**
 * Where a run begins. `anew`: from the prompt, in place of what is there; `on`: after it; `branch`: after its first
 * `index` tokens, with another one (its id, or a text) in place of the next.
 */
export type Beginning =
  { kind: "anew"; otherSeed: boolean } | { kind: "on" } | { kind: "branch"; index: number; by: number | string };

/** What a run is asked for. */
interface Request {
  input: string | readonly number[];
  options: GenerateOptions;
}

export interface RunSettings extends AllGenerateSettings {
  prompt: string;
  inspect: boolean;
}

/** Alternatives that are asked for with each token where somebody looks into the text. */
const INSPECTED_ALTERNATIVES = 10;

/** The text on the page: what it was written from, its tokens, and how it goes on. */
export class Writing {
  #passage = new Passage();
  #written: Written | undefined;
  #display: WrittenText | undefined;

  /** What is written from now on is shown there. */
  showIn(display: WrittenText): void {
    this.#display = display;
    display.replace(this.text);
  }

  get text(): string {
    return this.#passage.text;
  }

  get tokens(): readonly WrittenToken[] {
    return this.#passage.tokens;
  }

  /** How the text came about; undefined while there is none. */
  get written(): Written | undefined {
    return this.#written;
  }

  clear(): void {
    this.#written = undefined;
    this.#become(new Passage(), 0);
  }

  /** @throws WordloomError option-invalid where a token does not stand in the text, after those before it */
  replace(prompt: string, text: string, tokens: readonly SavedToken[]): void {
    const passage = new Passage();
    passage.addText(text);
    try {
      for (const token of tokens) passage.restore(token);
    } catch (cause) {
      throw new WordloomError("option-invalid", `replaceText: ${(cause as RangeError).message}`, { cause });
    }
    this.#written = text === "" ? undefined : new Written(prompt);
    this.#become(passage, 0);
  }

  /** What is still to be shown and said, and then a closing word. */
  finish(closing: string): void {
    this.#display?.finish(closing);
  }

  rangeOf(start: number, end: number): Range | undefined {
    return this.#display?.rangeOf(start, end);
  }

  /**
   * Puts the text into the state that the run begins with, and tells what to ask for.
   *
   * @throws WordloomError what `tokenize` throws; option-invalid for a token id on a server, which takes none;
   *   `signal.reason`
   */
  async begin(
    beginning: Beginning,
    generator: Generator,
    settings: RunSettings,
    signal: AbortSignal,
  ): Promise<Request> {
    const written = new Written(
      beginning.kind === "anew" ? settings.prompt : (this.#written?.prompt ?? settings.prompt),
    );
    const isRemote = generator.info.backend === "remote";
    const inspected = settings.inspect && {
      topLogprobs: INSPECTED_ALTERNATIVES,
      ...(isRemote ? {} : { tokenStatistics: true }), // no server tells them
    };
    const options = { ...generateOptions(settings), ...inspected };
    const { input, forced } =
      beginning.kind === "branch"
        ? await this.#branch(beginning, generator, written.prompt, signal)
        : { input: written.prompt + (beginning.kind === "on" ? this.text : ""), forced: [] };
    if (beginning.kind === "anew") {
      this.#become(new Passage(), 0);
      if (beginning.otherSeed && settings.seed !== undefined) options.seed = randomSeed();
    } else this.#passage.addText("");
    if (forced.length > 0) {
      options.forcedTokens = forced;
      if (settings.maxNewTokens !== undefined) options.maxNewTokens = Math.max(settings.maxNewTokens, forced.length);
    }
    this.#written = written;
    return { input, options };
  }

  /** @returns how it ended. @throws what the run fails with, but not for a stop by `signal` */
  async write(
    generator: Generator,
    { input, options }: Request,
    signal: AbortSignal,
    onChunk: (chunk: Pick<TextChunk, "text" | "tokens">) => void,
  ): Promise<GenerationEnd> {
    const written = this.#written ?? new Written("");
    let lastMs = performance.now();
    const run = generator.generate(input, { ...options, signal });
    if (generator.info.backend !== "remote") void written.countPrompt(generator, input); // a server tells it at the end
    try {
      for await (const { text, tokens } of run) {
        if (signal.aborted) break; // a run that was stopped writes nothing more
        const nowMs = performance.now();
        written.add(tokens.length);
        this.#passage.add(text, tokens, nowMs - lastMs);
        lastMs = nowMs;
        this.#display?.push(text);
        onChunk({ text, tokens });
      }
    } catch (error) {
      if (!signal.aborted) throw error; // stopped by us: `end` tells the rest
    }
    const end = await run.end;
    written.finish(end);
    return end;
  }

  /** Ids keep every token before the branch as it was, and with them the KV cache; text is the way where not all are known. */
  async #branch(
    { index, by }: { index: number; by: number | string },
    generator: Generator,
    prompt: string,
    signal: AbortSignal,
  ) {
    const token = this.tokens[index];
    const isRemote = generator.info.backend === "remote";
    const other = isRemote && typeof by === "number" ? token?.top?.find(({ id }) => id === by)?.text : by;
    if (token === undefined || other === undefined) {
      const problem = token
        ? `no text is known of token ${by}, and a server takes no ids`
        : `there is no token ${index}`;
      throw new WordloomError("option-invalid", `branch: ${problem}; there are ${this.tokens.length}`);
    }
    // Tokens that hold only a part of a character go with the one that completes it.
    let first = index;
    while (first > 0 && this.tokens[first - 1]?.end === this.tokens[first - 1]?.start) first -= 1;
    const known = isRemote ? undefined : this.#passage.idsOf(index);
    const promptIds = known && typeof other === "number" ? await generator.tokenize(prompt) : [];
    signal.throwIfAborted(); // the text stays as it is where the run was stopped before it began
    const passage = this.#passage.keep(first);
    this.#become(passage, passage.text.length);
    if (typeof other === "string") {
      passage.addText(other);
      this.#display?.push(other);
      return { input: prompt + passage.text, forced: [] };
    }
    if (!known) return { input: prompt + passage.text, forced: [other] };
    const before = [...promptIds, ...known.slice(0, first)];
    // Without any id before it there is nothing but the prompt, which may be empty.
    return { input: before.length > 0 ? before : prompt, forced: [...known.slice(first), other] };
  }

  #become(passage: Passage, kept: number): void {
    this.#passage = passage;
    this.#display?.replace(passage.text, kept);
  }
}
