/**
 * Finds what a pattern matches in a time that grows with the text's length, whatever the pattern: JavaScript's RegExp
 * goes back and forth, on some patterns for longer than anybody waits, and cannot be stopped.
 *
 * The matches are RegExp's own, in the same order of preference. As nothing refers back to a group, whether the rest of the
 * pattern matches depends on the place in the pattern and the place in the text alone; what has failed once is not
 * tried again. Single characters are judged by RegExp, so that properties and folding are the engine's.
 *
 * Source: "BitState" of RE2 (Cox 2010, "Regular Expression Matching in the Wild").
 */

/** Why a pattern is refused; thrown by `BoundedPattern`, and made a WordloomError by who knows its source. */
export class PatternTooHard extends Error {}

/** Places where two ways lead on, repetitions written out: each costs a bit for each character of the text. */
const MAX_SPLITS = 500;
const MAX_INSTRUCTIONS = 5000;
const MAX_GROUP_DEPTH = 64;
/** A text of 100,000 characters takes 3 million steps with the published patterns. */
const STEPS_PER_CHARACTER = 100;
const FREE_STEPS = 10_000_000;
const STEPS_PER_LOOK = 16;

type Tree =
  | { kind: "character"; test: (text: string, at: number) => boolean }
  | { kind: "edge"; end: boolean }
  | { kind: "sequence"; parts: readonly Tree[] }
  | { kind: "choice"; options: readonly Tree[] }
  | { kind: "repeat"; body: Tree; min: number; max: number; lazy: boolean }
  | { kind: "look"; body: Tree; behind: boolean; negated: boolean };

type Instruction =
  | { op: "character"; test: (text: string, at: number) => boolean }
  | { op: "edge"; end: boolean }
  /** `number`: of this split; `first` is tried before `second`. */
  | { op: "split"; number: number; first: number; second: number }
  | { op: "jump"; to: number }
  | { op: "look"; program: Program; negated: boolean }
  | { op: "match" };

interface Program {
  instructions: Instruction[];
  splits: number;
  /** Goes from the right to the left. */
  backward: boolean;
}

export class BoundedPattern {
  readonly #program: Program;

  /**
   * @param source a pattern of JavaScript with the flag u, as pattern.ts writes it: no references, no names
   * @throws PatternTooHard if it is too large, or repeats what may be empty
   */
  constructor(source: string) {
    this.#program = compile(new Reader(source).whole(), false);
  }

  /** As `text.matchAll`. @throws PatternTooHard beyond the bound, which only looking around can reach */
  *matchesIn(text: string): Generator<{ index: number; text: string }, void> {
    const search = new Search(this.#program, text);
    for (let start = 0; start <= text.length;) {
      const end = search.endFrom(start);
      if (end >= 0) yield { index: start, text: text.slice(start, end) };
      start = end > start ? end : start + sizeAt(text, start);
    }
  }
}

/** Positions of one page of marks. */
const PAGE = 1024;

class Search {
  #steps: number;
  /** By position / PAGE: bit `split` of each position, set where that has been tried. */
  readonly #tried = new Map<number, Uint32Array>();
  readonly #words: number;

  constructor(
    private readonly program: Program,
    private readonly text: string,
  ) {
    this.#steps = FREE_STEPS + STEPS_PER_CHARACTER * text.length;
    this.#words = Math.ceil(program.splits / 32);
  }

  /** Where the match that begins at `start` ends; -1 if there is none. */
  endFrom(start: number): number {
    const page = Math.floor(start / PAGE);
    this.#tried.delete(page - 1); // never seen again
    const end = this.#run(this.program, start, (split, at) => this.#mark(split, at));
    // On the way to this match nothing has failed. Of what was tried there, only this position may be met again.
    if (end >= 0) this.#tried.get(Math.floor(end / PAGE))?.fill(0, (end % PAGE) * this.#words, ((end % PAGE) + 1) * this.#words); // prettier-ignore
    return end;
  }

  /** @returns whether it is the first time */
  #mark(split: number, at: number): boolean {
    const page = Math.floor(at / PAGE);
    let marks = this.#tried.get(page);
    if (marks === undefined) this.#tried.set(page, (marks = new Uint32Array(PAGE * this.#words)));
    const word = (at % PAGE) * this.#words + (split >> 5);
    const bit = 1 << (split & 31);
    const before = marks[word] ?? 0;
    marks[word] = before | bit;
    return (before & bit) === 0;
  }

  #looks(program: Program, at: number): boolean {
    const tried = new Set<number>();
    const end = this.#run(program, at, (split, position) => {
      const key = split + program.splits * position;
      if (tried.has(key)) return false;
      this.#steps -= STEPS_PER_LOOK; // remembering it costs more than the step itself
      tried.add(key);
      return true;
    });
    return end >= 0;
  }

  #run({ instructions, backward }: Program, start: number, isNew: (split: number, at: number) => boolean): number {
    const { text } = this;
    const waiting: number[] = [];
    let [place, at] = [0, start];
    for (;;) {
      if (--this.#steps < 0) throw new PatternTooHard(`takes too long on a text of ${text.length} characters`);
      const instruction = instructions[place] as Instruction; // jumps lead inside
      let goesOn = true;
      switch (instruction.op) {
        case "match":
          return at;
        case "jump":
          place = instruction.to;
          break;
        case "split":
          goesOn = isNew(instruction.number, at);
          if (goesOn) {
            waiting.push(instruction.second, at);
            place = instruction.first;
          }
          break;
        case "character": {
          const size = backward ? sizeBefore(text, at) : sizeAt(text, at);
          const from = backward ? at - size : at;
          goesOn = from >= 0 && from < text.length && instruction.test(text, from);
          at = backward ? from : at + size;
          place += 1;
          break;
        }
        case "edge":
          goesOn = at === (instruction.end ? text.length : 0);
          place += 1;
          break;
        case "look":
          goesOn = this.#looks(instruction.program, at) !== instruction.negated;
          place += 1;
          break;
      }
      if (goesOn) continue;
      const next = waiting.pop();
      if (next === undefined) return -1;
      at = next;
      place = waiting.pop() as number; // pushed together
    }
  }
}

function sizeAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

function sizeBefore(text: string, at: number): number {
  return at >= 2 && (text.codePointAt(at - 2) ?? 0) > 0xffff ? 2 : 1;
}

function compile(tree: Tree, backward: boolean): Program {
  const instructions: Instruction[] = [];
  let splits = 0;
  const emit = (instruction: Instruction): number => {
    if (instructions.length >= MAX_INSTRUCTIONS) throw new PatternTooHard(`has more than ${MAX_INSTRUCTIONS} places`);
    return instructions.push(instruction) - 1;
  };
  /** A fork: `preferred` follows at once, where the other way goes on is said later. */
  const fork = (lazy: boolean): ((otherwise: number) => void) => {
    if (splits >= MAX_SPLITS) throw new PatternTooHard(`has more than ${MAX_SPLITS} forks`);
    const split = { op: "split" as const, number: splits++, first: 0, second: 0 };
    const at = emit(split);
    split.first = split.second = at + 1;
    return (otherwise) => {
      if (lazy) split.first = otherwise;
      else split.second = otherwise;
    };
  };
  const write = (node: Tree): void => {
    switch (node.kind) {
      case "character":
        emit({ op: "character", test: node.test });
        return;
      case "edge":
        emit({ op: "edge", end: node.end });
        return;
      case "sequence":
        for (const part of backward ? node.parts.toReversed() : node.parts) write(part);
        return;
      case "choice": {
        const ends: { op: "jump"; to: number }[] = [];
        node.options.forEach((option, i) => {
          const isLast = i === node.options.length - 1;
          const otherwise = isLast ? undefined : fork(false);
          write(option);
          if (otherwise === undefined) return;
          const end = { op: "jump" as const, to: 0 };
          emit(end);
          ends.push(end);
          otherwise(instructions.length);
        });
        for (const end of ends) end.to = instructions.length;
        return;
      }
      case "repeat": {
        if (isNullable(node.body)) throw new PatternTooHard("repeats what may be empty");
        for (let i = 0; i < node.min; i++) write(node.body);
        if (node.max === Infinity) {
          const start = instructions.length;
          const leave = fork(node.lazy);
          write(node.body);
          emit({ op: "jump", to: start });
          leave(instructions.length);
          return;
        }
        const leaving: ((otherwise: number) => void)[] = [];
        for (let i = node.min; i < node.max; i++) {
          leaving.push(fork(node.lazy));
          write(node.body);
        }
        for (const leave of leaving) leave(instructions.length);
        return;
      }
      case "look":
        emit({ op: "look", program: compile(node.body, node.behind), negated: node.negated });
    }
  };
  write(tree);
  emit({ op: "match" });
  return { instructions, splits, backward };
}

function isNullable(node: Tree): boolean {
  switch (node.kind) {
    case "character":
      return false;
    case "edge":
    case "look":
      return true;
    case "sequence":
      return node.parts.every(isNullable);
    case "choice":
      return node.options.some(isNullable);
    case "repeat":
      return node.min === 0 || isNullable(node.body);
  }
}

const LOOKS = [
  ["(?<=", { behind: true, negated: false }],
  ["(?<!", { behind: true, negated: true }],
  ["(?=", { behind: false, negated: false }],
  ["(?!", { behind: false, negated: true }],
] as const;

/** Of what pattern.ts writes, and RegExp has accepted. */
class Reader {
  #at = 0;
  #depth = 0;

  constructor(private readonly source: string) {}

  whole(): Tree {
    return this.#choice();
  }

  #choice(): Tree {
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    return options.length === 1 && options[0] ? options[0] : { kind: "choice", options };
  }

  #sequence(): Tree {
    const parts: Tree[] = [];
    while (this.#at < this.source.length && !/[|)]/.test(this.source.charAt(this.#at))) {
      parts.push(this.#quantified(this.#atom()));
    }
    return { kind: "sequence", parts };
  }

  #atom(): Tree {
    if (this.#take("^")) return { kind: "edge", end: false };
    if (this.#take("$")) return { kind: "edge", end: true };
    for (const [opening, look] of LOOKS) {
      if (this.#take(opening)) return { kind: "look", body: this.#group(), ...look };
    }
    if (this.#take("(?:")) return this.#group();
    return { kind: "character", test: characterTest(this.#character()) };
  }

  #group(): Tree {
    if (++this.#depth > MAX_GROUP_DEPTH) throw new PatternTooHard(`has groups more than ${MAX_GROUP_DEPTH} deep`);
    const body = this.#choice();
    this.#take(")");
    this.#depth--;
    return body;
  }

  /** A class, an escape, or a character as it is. */
  #character(): string {
    const one = /^(?:\[(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|.)|.)/su.exec(this.source.slice(this.#at));
    const atom = one?.[0] ?? "";
    if (atom === "") throw new PatternTooHard(`is not understood at ${this.#at}`);
    this.#at += atom.length;
    return atom;
  }

  #quantified(body: Tree): Tree {
    const form = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})(\??)/.exec(this.source.slice(this.#at));
    if (form === null) return body;
    this.#at += form[0].length;
    const [sign, least = "0", comma, most, lazy] = form;
    const [min, max] =
      sign.startsWith("*") ? [0, Infinity]
      : sign.startsWith("+") ? [1, Infinity]
      : sign.startsWith("?") ? [0, 1]
      : [Number(least), comma === "" ? Number(least) : most === "" ? Infinity : Number(most)]; // prettier-ignore
    return { kind: "repeat", body, min, max, lazy: lazy === "?" };
  }

  #take(expected: string): boolean {
    if (!this.source.startsWith(expected, this.#at)) return false;
    this.#at += expected.length;
    return true;
  }
}

/** Whether the character at a place is one of `atom`, a pattern of one character. */
function characterTest(atom: string): (text: string, at: number) => boolean {
  const pattern = new RegExp(atom, "uy");
  const test = (text: string, at: number): boolean => {
    pattern.lastIndex = at;
    return pattern.test(text);
  };
  const ascii = Array.from({ length: 128 }, (_, unit) => test(String.fromCharCode(unit), 0));
  return (text, at) => ascii[text.charCodeAt(at)] ?? test(text, at);
}
