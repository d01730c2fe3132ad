import { WordloomError } from "../errors";
import { StopStrings } from "./stop-strings";
import type { StreamedText, Tokenizer } from "./tokenizer";
import { Utf8Stream } from "./utf8-stream";

/** A token whose text has not all been released yet. */
interface HeldToken {
  /** Length of the text once this token was pushed. */
  end: number;
  /** It ends in the middle of a character, which a later token completes. */
  isInsideCharacter: boolean;
}

/**
 * Ids → text, one id at a time: whole characters only, nothing that may still become a stop string, and no part of a
 * complete one. A token costs the same however long the text already is.
 *
 * Bytes that can no longer become a character are U+FFFD at once; those that still can are held, and are one U+FFFD
 * at `flush`. Whatever the ids, all released text joined is `decode` of them all (up to the first stop string).
 */
export class TextStream {
  private readonly characters = new Utf8Stream();
  private readonly stops: StopStrings;
  private isFirst: boolean;
  /** Tokens whose text may still not be part of a stop string. */
  private freeTokens: number;
  private heldText = "";
  /** Lengths of the text released, and of all text. */
  private released = 0;
  private length = 0;
  /** Tokens that lie wholly in the released text; those after them; and where among those the live ones begin. */
  private settledTokens = 0;
  /** Where the last of the settled ones ends. */
  private settledEnd = 0;
  private held: HeldToken[] = [];
  private heldFrom = 0;
  private hasStopped = false;

  /**
   * @param stopStrings none may be empty (`option-invalid`)
   * @param options.continues the stream goes on with a text whose earlier ids are not pushed, so a first blank counts
   * @param options.stopsFrom stop strings are not looked for in the text of so many of the first ids
   */
  constructor(
    private readonly tokenizer: Pick<Tokenizer, "bytesOf">,
    stopStrings: readonly string[],
    options: { continues?: boolean; stopsFrom?: number } = {},
  ) {
    this.stops = new StopStrings(stopStrings);
    this.isFirst = options.continues !== true;
    this.freeTokens = options.stopsFrom ?? 0;
  }

  /** The next id. After `stopped` nothing more may be pushed. */
  push(id: number): StreamedText {
    if (this.hasStopped) throw new WordloomError("internal", `id ${id} was pushed after a stop string`);
    const bytes = this.tokenizer.bytesOf(id, this.isFirst);
    // A first token may lose its only blank and still be the first.
    if (this.isFirst && this.tokenizer.bytesOf(id, false).length > 0) this.isFirst = false;
    const text = this.characters.push(bytes);
    const endsInCharacter = this.characters.isInsideCharacter;
    this.held.push({ end: this.length + text.length, isInsideCharacter: endsInCharacter });
    const { released, stopStart } = this.accept(text, this.freeTokens > 0);
    if (this.freeTokens > 0) this.freeTokens--;
    const stopped = stopStart === undefined ? undefined : { keptTokens: this.tokensBefore(stopStart) };
    return { text: released, token: { id, text, bytes }, endsInCharacter, stopped };
  }

  /** The rest, when no further id comes: what was held, and U+FFFD for a character that never became whole. */
  flush(): string {
    if (this.hasStopped) return "";
    const { released, stopStart } = this.accept(this.characters.flush(), this.freeTokens > 0);
    const rest = stopStart === undefined ? this.heldText : "";
    this.released += rest.length;
    this.heldText = "";
    return released + rest;
  }

  /** Takes new text in; releases what no stop string can take back. */
  private accept(text: string, isFree: boolean): { released: string; stopStart: number | undefined } {
    const stop = isFree ? undefined : this.stops.push(text);
    const known = this.heldText + text;
    const stopStart = stop === undefined ? undefined : this.length + stop.end - stop.length;
    this.length += text.length;
    const keep = stopStart ?? this.releasable();
    const released = known.slice(0, keep - this.released);
    this.heldText = known.slice(keep - this.released);
    this.released = keep;
    if (stopStart === undefined) this.settle();
    else this.hasStopped = true;
    return { released, stopStart };
  }

  /**
   * Up to where no stop string can take text back, nor the token that the text came with: one that ends in the middle of
   * a character which may begin a stop string is held as a whole.
   */
  private releasable(): number {
    let end = this.length - this.stops.undecided;
    if (this.stops.isEmpty) return end;
    for (let i = this.held.length - 1; i >= this.heldFrom; i--) {
      const token = this.held[i];
      if (token?.end === end && token.isInsideCharacter) {
        end = i > this.heldFrom ? (this.held[i - 1]?.end ?? end) : this.settledEnd;
      }
    }
    return Math.max(this.released, end);
  }

  /** Forgets tokens that every later stop string must lie behind. */
  private settle(): void {
    for (let token = this.held[this.heldFrom]; token && liesBefore(token, this.released);) {
      this.settledTokens += 1;
      this.settledEnd = token.end;
      this.heldFrom += 1;
      token = this.held[this.heldFrom];
    }
    if (this.heldFrom * 2 > this.held.length) {
      this.held = this.held.slice(this.heldFrom);
      this.heldFrom = 0;
    }
  }

  private tokensBefore(start: number): number {
    let kept = this.settledTokens;
    for (let i = this.heldFrom; i < this.held.length; i++, kept++) {
      const token = this.held[i];
      if (token === undefined || !liesBefore(token, start)) break;
    }
    return kept;
  }
}

function liesBefore(token: HeldToken, position: number): boolean {
  return token.end < position || (token.end === position && !token.isInsideCharacter);
}
