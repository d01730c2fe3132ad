/** Calls written as a Python list, `[get_weather(city="Oslo", days=3)]`: names, keyword arguments and literals only. */

/** A call of a tool, whatever it was written in. */
export interface ParsedCall {
  name: string;
  arguments: Record<string, unknown>;
  /** The model's own, where the notation has one. */
  id?: string;
}

/** @throws Error saying where the text is something else */
export function parsePythonCalls(text: string): ParsedCall[] {
  const reader = new PythonReader(text);
  const isList = reader.takes("[");
  const calls = [reader.call()];
  if (isList) {
    while (reader.takes(",")) calls.push(reader.call());
    reader.expect("]");
  }
  reader.expectEnd();
  return calls;
}

const WORDS: Readonly<Record<string, unknown>> = {
  True: true,
  False: false,
  None: null,
  true: true,
  false: false,
  null: null,
};
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\\": "\\", "'": "'", '"': '"' };

class PythonReader {
  #at = 0;

  constructor(private readonly text: string) {}

  /** Whether `mark` comes next; it is then behind us. */
  takes(mark: string): boolean {
    this.#blanks();
    if (!this.text.startsWith(mark, this.#at)) return false;
    this.#at += mark.length;
    return true;
  }

  expect(mark: string): void {
    if (!this.takes(mark)) throw this.#unexpected(mark);
  }

  expectEnd(): void {
    this.#blanks();
    if (this.#at < this.text.length) throw this.#unexpected("the end");
  }

  call(): ParsedCall {
    const name = this.#match(/[A-Za-z_][\w.]*/y, "a function's name");
    const given: [string, unknown][] = [];
    this.expect("(");
    while (!this.takes(")")) {
      if (given.length > 0) this.expect(",");
      const key = this.#match(/[A-Za-z_]\w*/y, "a keyword");
      this.expect("=");
      given.push([key, this.#value()]);
    }
    return { name, arguments: Object.fromEntries(given) };
  }

  #value(): unknown {
    this.#blanks();
    const first = this.text.charAt(this.#at);
    if (first === '"' || first === "'") return this.#string(first);
    if (this.takes("[")) return this.#items("]", () => this.#value());
    if (this.takes("{")) {
      const entry = (): [string, unknown] => {
        this.#blanks();
        const quote = this.text.charAt(this.#at);
        if (quote !== '"' && quote !== "'") throw this.#unexpected("a key in quotes");
        const key = this.#string(quote);
        this.expect(":");
        return [key, this.#value()];
      };
      return Object.fromEntries(this.#items("}", entry));
    }
    const word = this.#match(/[-+.\w]+/y, "a value");
    if (Object.hasOwn(WORDS, word)) return WORDS[word];
    if (!/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(word)) throw new Error(`${word} is no literal of Python`);
    return Number(word);
  }

  #items<T>(close: string, read: () => T): T[] {
    const items: T[] = [];
    while (!this.takes(close)) {
      if (items.length > 0) this.expect(",");
      items.push(read());
    }
    return items;
  }

  #string(quote: string): string {
    let value = "";
    for (this.#at++; this.#at < this.text.length; this.#at++) {
      const unit = this.text.charAt(this.#at);
      if (unit === quote) {
        this.#at++;
        return value;
      }
      if (unit !== "\\") value += unit;
      else value += this.#escape();
    }
    throw new Error("a string of the call has no end");
  }

  #escape(): string {
    const kind = this.text.charAt(++this.#at);
    const digits = kind === "u" ? 4 : kind === "x" ? 2 : 0;
    if (digits === 0) return ESCAPES[kind] ?? `\\${kind}`; // as Python: an unknown escape stays as it is
    const code = this.text.slice(this.#at + 1, this.#at + 1 + digits);
    if (!/^[0-9a-fA-F]+$/.test(code) || code.length < digits) throw new Error(`\\${kind}${code} is no character`);
    this.#at += digits;
    return String.fromCharCode(parseInt(code, 16));
  }

  #match(pattern: RegExp, expected: string): string {
    this.#blanks();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw this.#unexpected(expected);
    this.#at += found.length;
    return found;
  }

  #blanks(): void {
    while (/\s/.test(this.text.charAt(this.#at))) this.#at++;
  }

  #unexpected(expected: string): Error {
    const found = this.text.slice(this.#at, this.#at + 12);
    return new Error(`the call has ${found === "" ? "its end" : JSON.stringify(found)} in place of ${expected}`);
  }
}
