/**
 * An answer's text, in chunks → its parts: text for the reader, reasoning, calls of tools.
 *
 * The parts do not depend on how the text is cut into chunks, but for where a text is cut in two. White space beside a
 * mark is layout and belongs to no part; everything else of the answer does: what is marked as a call and is none comes
 * back as text, marks included, with the reason.
 */
import type { AnswerFormat } from "./answer-format";
import { isObject, jsonObjectEnd, parseCalls, type ParameterSchemas, type ParsedCall } from "./call-syntax";

export type AnswerPart =
  /** `malformedCall`: the model began a call, and this is why it is none; the text is all of it. */
  { type: "text"; text: string; malformedCall?: string } | { type: "reasoning"; text: string } | ToolCallPart;

/** One whole call, told when its last character has come. */
export interface ToolCallPart {
  type: "tool-call";
  /** The model's own, else nine random letters and digits. */
  id: string;
  name: string;
  /** As the model wrote them; whether they fit the tool's schema is the caller's to check. */
  arguments: Record<string, unknown>;
}

export interface AnswerPartsOptions {
  /** The prompt ends with the mark that begins reasoning. */
  insideReasoning: boolean;
  /** The tools the model was given, by name, with their parameters' schemas; without any no calls are looked for. */
  tools: ParameterSchemas;
  /** Marks that are special tokens: they come by `pushSpecial`, and spelled in the text they are text. */
  specials: ReadonlySet<string>;
  newId?: () => string;
}

type State = "text" | "reasoning" | "call" | "bare";
type Mark = "reasoning-open" | "reasoning-close" | "call-open" | "call-close";

export class AnswerParts {
  readonly #calls: AnswerFormat["calls"];
  readonly #options: AnswerPartsOptions;
  readonly #marks: ReadonlyMap<Mark, string>;
  #state: State;
  /** Not decided yet. */
  #pending = "";
  /** Only white space has come since the last mark; it is layout. */
  #afterMark: boolean;
  /** No text has been told yet, so that a call without a mark may begin. */
  #atStart = true;
  #bareCalls = 0;

  constructor(format: AnswerFormat, options: AnswerPartsOptions) {
    const { reasoning } = format;
    this.#calls = options.tools.size > 0 ? format.calls : undefined;
    this.#options = options;
    const marks = new Map<Mark, string>();
    if (reasoning) marks.set("reasoning-open", reasoning.open).set("reasoning-close", reasoning.close);
    if (this.#calls) marks.set("call-open", this.#calls.open);
    if (this.#calls?.close !== undefined) marks.set("call-close", this.#calls.close);
    this.#marks = marks;
    this.#state = options.insideReasoning && reasoning ? "reasoning" : "text";
    this.#afterMark = this.#state === "reasoning";
  }

  push(text: string): AnswerPart[] {
    this.#pending += text;
    const parts: AnswerPart[] = [];
    while (this.#advance(parts));
    return parts;
  }

  /** A special token at this place of the text. One that is no mark here is part of a call, or nothing. */
  pushSpecial(spelling: string): AnswerPart[] {
    const parts: AnswerPart[] = [];
    if (this.#state === "bare" && spelling === this.#marks.get("call-open")) this.#state = "text";
    const mark = this.#awaited().find((one) => this.#marks.get(one) === spelling);
    if (mark) this.#pass(mark, this.#pending.length, 0, parts);
    else if (this.#state === "call") this.#pending += spelling;
    return parts;
  }

  /** The answer is over: what was held is decided. */
  end(): AnswerPart[] {
    const parts: AnswerPart[] = [];
    if (this.#state === "bare") this.#state = "text";
    if (this.#state === "call") this.#tellCall(this.#pending, "", parts);
    else this.#tell(this.#pending, parts);
    this.#pending = "";
    return parts;
  }

  /** Decides what it can; whether there may be more to decide at once. */
  #advance(parts: AnswerPart[]): boolean {
    if (this.#state === "text" && this.#mayBeBare()) this.#state = "bare";
    if (this.#state === "bare") return this.#advanceBare(parts);
    const awaited = this.#awaited();
    const found = this.#findMark(awaited);
    if (found) {
      this.#pass(found.mark, found.at, found.length, parts);
      return true;
    }
    if (this.#state === "call") return false;
    const settled = awaited.length === 0 ? this.#pending.length : this.#settledLength(awaited);
    this.#tell(this.#pending.slice(0, settled), parts);
    this.#pending = this.#pending.slice(settled);
    return false;
  }

  /** The marks that mean something now. */
  #awaited(): Mark[] {
    const marks: Record<State, Mark[]> = {
      text: ["reasoning-open", "call-open"],
      reasoning: ["reasoning-close"],
      call: this.#marks.has("call-close") ? ["call-close"] : ["call-open"],
      bare: [],
    };
    return marks[this.#state].filter((mark) => this.#marks.has(mark));
  }

  /** What lies before the mark is decided, and the mark is behind us. */
  #pass(mark: Mark, at: number, length: number, parts: AnswerPart[]): void {
    const before = this.#pending.slice(0, at);
    this.#pending = this.#pending.slice(at + length);
    if (this.#state === "call")
      this.#tellCall(before, mark === "call-close" ? (this.#marks.get(mark) ?? "") : "", parts);
    else this.#tell(before.trimEnd(), parts);
    this.#state = mark === "reasoning-open" ? "reasoning" : mark === "call-open" ? "call" : "text";
    this.#afterMark = true;
  }

  #findMark(awaited: readonly Mark[]): { mark: Mark; at: number; length: number } | undefined {
    let first: { mark: Mark; at: number; length: number } | undefined;
    for (const { mark, spelling } of this.#spelled(awaited)) {
      const at = this.#pending.indexOf(spelling);
      if (at >= 0 && (first === undefined || at < first.at)) first = { mark, at, length: spelling.length };
    }
    return first;
  }

  /** How much of what is pending can be part of no mark, nor white space before one. */
  #settledLength(awaited: readonly Mark[]): number {
    const text = this.#pending;
    let settled = text.length;
    for (const { spelling } of this.#spelled(awaited)) {
      for (let length = Math.min(spelling.length - 1, text.length); length > 0; length--) {
        if (!text.endsWith(spelling.slice(0, length))) continue;
        settled = Math.min(settled, text.length - length);
        break;
      }
    }
    return text.slice(0, settled).trimEnd().length;
  }

  /** Marks that are found in the text. */
  #spelled(awaited: readonly Mark[]): { mark: Mark; spelling: string }[] {
    return awaited
      .map((mark) => ({ mark, spelling: this.#marks.get(mark) ?? "" }))
      .filter(({ spelling }) => spelling !== "" && !this.#options.specials.has(spelling));
  }

  #mayBeBare(): boolean {
    return this.#calls?.bare === true && this.#atStart && this.#pending.trimStart().startsWith("{");
  }

  /** A JSON object without a mark is a call if it names a tool that the model was given; several may follow. */
  #advanceBare(parts: AnswerPart[]): boolean {
    const body = this.#pending.replace(this.#bareCalls > 0 ? /^[\s;]+/ : /^\s+/, "");
    if (body === "") return false;
    if (couldBeCall(body)) {
      const end = jsonObjectEnd(body);
      if (end === undefined) return false;
      const call = this.#bareCall(body.slice(0, end));
      if (call) {
        parts.push(this.#partOf(call));
        this.#bareCalls++;
        this.#pending = body.slice(end);
        this.#afterMark = true;
        return true;
      }
    }
    this.#state = "text";
    this.#atStart = false;
    return true;
  }

  #bareCall(body: string): ParsedCall | undefined {
    try {
      const value: unknown = JSON.parse(body);
      if (!isObject(value) || !(isObject(value["parameters"]) || isObject(value["arguments"]))) return undefined;
      const [call] = parseCalls(body, "json", this.#options.tools);
      return call && this.#options.tools.has(call.name) ? call : undefined;
    } catch {
      return undefined; // an answer in JSON that is no call: it is text, and nothing is lost
    }
  }

  #tell(text: string, parts: AnswerPart[]): void {
    const shown = this.#afterMark ? text.trimStart() : text;
    if (shown === "") return;
    this.#afterMark = false;
    if (this.#state === "reasoning") parts.push({ type: "reasoning", text: shown });
    else {
      this.#atStart = false;
      parts.push({ type: "text", text: shown });
    }
  }

  #tellCall(body: string, closing: string, parts: AnswerPart[]): void {
    this.#atStart = false;
    if (!this.#calls) return;
    try {
      parts.push(...parseCalls(body, this.#calls.syntax, this.#options.tools).map((call) => this.#partOf(call)));
    } catch (error) {
      const malformedCall = error instanceof Error ? error.message : String(error);
      parts.push({ type: "text", text: this.#calls.open + body + closing, malformedCall });
    }
  }

  #partOf({ id, ...call }: ParsedCall): ToolCallPart {
    return { type: "tool-call", id: id ?? (this.#options.newId ?? newCallId)(), ...call };
  }
}

const FIRST_KEYS = ["name", "parameters", "arguments", "type", "id"].map((key) => `"${key}"`);

/** Whether an object that begins like this may be a call, as far as its first key tells. */
function couldBeCall(body: string): boolean {
  if (!body.startsWith("{")) return false;
  const rest = body.slice(1).trimStart();
  return FIRST_KEYS.some((key) => key.startsWith(rest) || rest.startsWith(key));
}

const ID_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** Nine letters and digits: what Mistral's templates insist on, and others take. */
export function newCallId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => ID_LETTERS[byte % ID_LETTERS.length]).join("");
}
