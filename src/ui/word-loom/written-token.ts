/** One token of the text on the page, and how thousands of them are held so that they cost little. */

/** Another token that could have stood there, by the model's own probability. */
export interface Alternative {
  /** Null where a server tells none. */
  readonly id: number | null;
  readonly text: string;
  readonly logprob: number;
}

/** Where a token stands and how it came; `rank`, `entropy` and `top` are undefined where they were not asked for. */
export interface WrittenToken {
  /** Null where a server tells none. */
  readonly id: number | null;
  /** The whole characters that it completes: the text from `start` to `end`. */
  readonly text: string;
  /** Exactly its bytes; null where a server tells none. */
  readonly bytes: Uint8Array | null;
  /** Natural log of the model's own probability of it. */
  readonly logprob: number;
  /** 1 + how many tokens the model found likelier. */
  readonly rank?: number | undefined;
  /** Of the distribution that it was chosen from, in nats. */
  readonly entropy?: number | undefined;
  /** The likeliest tokens in its place, likeliest first. */
  readonly top?: readonly Alternative[] | undefined;
  /** Where it begins in `text`, in UTF-16 units. A token whose characters come with a later one ends where it begins. */
  readonly start: number;
  readonly end: number;
  /** From the token before it, or from its run's beginning, to its arrival on this page, in ms. */
  readonly elapsedMs: number;
}

/** A token as it may have been kept: what `JSON.parse(JSON.stringify(token))` gives. */
export type SavedToken = Omit<WrittenToken, "text" | "bytes"> & { readonly bytes: ArrayLike<number> | null };

/** A list of numbers in one piece of memory, which doubles as it fills. */
class Numbers<Values extends Float64Array | Uint8Array> {
  length = 0;
  #values: Values;

  constructor(private readonly make: (length: number) => Values) {
    this.#values = make(64);
  }

  push(added: ArrayLike<number>): void {
    const length = this.length + added.length;
    if (length > this.#values.length) {
      const larger = this.make(2 * length);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values.set(added, this.length);
    this.length = length;
  }

  at(index: number): number {
    return this.#values[index] ?? Number.NaN;
  }

  slice(start: number, end: number): Values {
    return this.#values.slice(start, end) as Values; // the same kind of array
  }
}

const FIELDS = ["id", "logprob", "rank", "entropy", "start", "end", "elapsedMs"] as const;
/** The fields, then where its bytes and its alternatives begin and end. NaN is what is not known. */
const STRIDE = FIELDS.length + 4;

/** Numbers of many tokens; each is read as an object when it is asked for. */
export class TokenStore {
  readonly #numbers = new Numbers((length) => new Float64Array(length));
  readonly #bytes = new Numbers((length) => new Uint8Array(length));
  /** Of each alternative: id, logprob, number of its text in `#texts`. */
  readonly #top = new Numbers((length) => new Float64Array(length));
  readonly #texts: string[] = [];
  readonly #textNumbers = new Map<string, number>();

  get length(): number {
    return this.#numbers.length / STRIDE;
  }

  push(token: SavedToken): void {
    const { bytes, top } = token;
    const starts = [bytes ? this.#bytes.length : Number.NaN, top ? this.#top.length : Number.NaN];
    if (bytes) this.#bytes.push(bytes);
    for (const { id, logprob, text } of top ?? []) this.#top.push([id ?? Number.NaN, logprob, this.#numberOf(text)]);
    const fields = FIELDS.map((name) => token[name] ?? Number.NaN);
    this.#numbers.push([...fields, ...starts, this.#bytes.length, this.#top.length]);
  }

  field(index: number, name: (typeof FIELDS)[number]): number {
    return this.#numbers.at(index * STRIDE + FIELDS.indexOf(name));
  }

  bytesOf(index: number): Uint8Array | null {
    const start = this.#numbers.at(index * STRIDE + FIELDS.length);
    return Number.isNaN(start) ? null : this.#bytes.slice(start, this.#numbers.at(index * STRIDE + FIELDS.length + 2));
  }

  topOf(index: number): readonly Alternative[] | undefined {
    const start = this.#numbers.at(index * STRIDE + FIELDS.length + 1);
    if (Number.isNaN(start)) return undefined;
    const found: Alternative[] = [];
    for (let at = start; at < this.#numbers.at(index * STRIDE + FIELDS.length + 3); at += 3) {
      const text = this.#texts[this.#top.at(at + 2)] ?? "";
      found.push({ id: known(this.#top.at(at)) ?? null, text, logprob: this.#top.at(at + 1) });
    }
    return found;
  }

  #numberOf(text: string): number {
    const number = this.#textNumbers.get(text) ?? this.#texts.push(text) - 1;
    this.#textNumbers.set(text, number);
    return number;
  }
}

/** Token `index` of a store, for a reader. */
export class TokenView implements WrittenToken {
  readonly #store: TokenStore;
  readonly #index: number;
  readonly #passage: { readonly text: string };

  constructor(store: TokenStore, index: number, passage: { readonly text: string }) {
    this.#store = store;
    this.#index = index;
    this.#passage = passage;
  }

  get id(): number | null {
    return known(this.#store.field(this.#index, "id")) ?? null;
  }

  get text(): string {
    return this.#passage.text.slice(this.start, this.end);
  }

  get bytes(): Uint8Array | null {
    return this.#store.bytesOf(this.#index);
  }

  get logprob(): number {
    return this.#store.field(this.#index, "logprob");
  }

  get rank(): number | undefined {
    return known(this.#store.field(this.#index, "rank"));
  }

  get entropy(): number | undefined {
    return known(this.#store.field(this.#index, "entropy"));
  }

  get top(): readonly Alternative[] | undefined {
    return this.#store.topOf(this.#index);
  }

  get start(): number {
    return this.#store.field(this.#index, "start");
  }

  get end(): number {
    return this.#store.field(this.#index, "end");
  }

  get elapsedMs(): number {
    return this.#store.field(this.#index, "elapsedMs");
  }

  /** Plain, for JSON and for keeping: getters alone would be left out. */
  toJSON(): SavedToken & { text: string } {
    const { id, text, bytes, logprob, rank, entropy, top, start, end, elapsedMs } = this;
    return { id, text, bytes: bytes && Array.from(bytes), logprob, rank, entropy, top, start, end, elapsedMs };
  }
}

function known(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}
