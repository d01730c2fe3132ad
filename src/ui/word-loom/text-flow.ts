/** So many lines have a block each; in a longer text a new block takes 1/64 of the lines there are. */
const SINGLE_LINES = 64;

/**
 * A paragraph that is longer goes on in a block of its own, after a blank: laying out a single one of 100,000 characters
 * again and again takes the page's whole thread.
 */
const LONGEST_LINE = 5000;

/** A text node, and where in the text it begins. */
interface Block {
  readonly start: number;
  readonly node: Text;
  /** What is in the container: the node's element, or the node. */
  readonly top: ChildNode;
  lineCount: number;
}

/**
 * Grows a text in the page, never as HTML.
 *
 * Appending costs the length of what is appended. Lines after the first are in blocks, so that the browser lays out again
 * only the one being written. Blocks of a long text hold several lines each, so that there are only so many nodes, but
 * what is there stays, and with it every Range. A newline stays in the text (at the end of its block, where it makes no
 * line of its own): `container.textContent` is exactly what was appended.
 */
export class TextFlow {
  readonly #container: HTMLElement;
  #blocks: Block[] = [];
  #lineCount = 0;
  #lineEnded = true;

  constructor(container: HTMLElement) {
    this.#container = container;
  }

  /** In UTF-16 units. */
  get length(): number {
    const last = this.#blocks.at(-1);
    return last ? last.start + last.node.length : 0;
  }

  append(text: string): void {
    let start = 0;
    while (start < text.length) {
      const newline = text.indexOf("\n", start);
      const lineEnd = newline < 0 ? text.length : newline + 1;
      const block = this.#lineEnded ? this.#beginLine() : (this.#blocks.at(-1) ?? this.#beginLine());
      const blank = text.indexOf(" ", start + Math.max(0, LONGEST_LINE - lastLineLength(block.node.data)));
      const end = blank < 0 ? lineEnd : Math.min(lineEnd, blank + 1);
      block.node.appendData(text.slice(start, end));
      this.#lineEnded = endsLine(block.node.data);
      start = end;
    }
  }

  /** Leaves the first `length` UTF-16 units of the text. */
  truncate(length: number): void {
    for (let last = this.#blocks.at(-1); last && last.start >= length; last = this.#blocks.at(-1)) {
      last.top.remove();
      this.#blocks.pop();
      this.#lineCount -= last.lineCount;
    }
    const last = this.#blocks.at(-1);
    if (last && last.start + last.node.length > length) {
      last.node.deleteData(length - last.start, last.start + last.node.length - length);
      const newlines = last.node.data.split("\n").length - 1;
      const lineCount = newlines + (last.node.data.endsWith("\n") ? 0 : 1);
      this.#lineCount += lineCount - last.lineCount;
      last.lineCount = lineCount;
    }
    this.#lineEnded = last === undefined || endsLine(last.node.data);
  }

  clear(): void {
    this.truncate(0);
  }

  /** The text from `start` to `end`, in UTF-16 units, as far as it is here. */
  rangeOf(start: number, end: number): Range {
    const range = document.createRange();
    const from = Math.max(0, Math.min(start, end));
    range.setStart(...this.#pointAt(from, (block) => block.start <= from));
    range.setEnd(...this.#pointAt(end, (block) => block.start < end)); // at a border the end of the block before it
    return range;
  }

  #pointAt(position: number, isBefore: (block: Block) => boolean): [Node, number] {
    let [low, high] = [0, this.#blocks.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      const block = this.#blocks[middle];
      if (block && isBefore(block)) low = middle;
      else high = middle;
    }
    const block = this.#blocks[low];
    if (!block) return [this.#container, 0];
    return [block.node, Math.max(0, Math.min(position - block.start, block.node.length))];
  }

  #beginLine(): Block {
    const last = this.#blocks.at(-1);
    this.#lineCount += 1;
    const hasRoom = last && last.lineCount < 1 + Math.floor(this.#lineCount / SINGLE_LINES);
    // The first block holds one line alone: it flows on from the prompt, on the same line.
    if (hasRoom && this.#blocks.length > 1 && last.node.length < LONGEST_LINE && last.node.data.endsWith("\n")) {
      last.lineCount += 1;
      return last;
    }
    const node = document.createTextNode("");
    const block = {
      node,
      start: this.length,
      top: last ? lineOf(node) : node,
      lineCount: 1,
    };
    this.#container.append(block.top);
    this.#blocks.push(block);
    return block;
  }
}

function lastLineLength(data: string): number {
  return data.length - (data.lastIndexOf("\n") + 1);
}

/** What comes after it is in another line: a new one, or the rest of one that is too long. */
function endsLine(data: string): boolean {
  return data.endsWith("\n") || (data.endsWith(" ") && lastLineLength(data) > LONGEST_LINE);
}

/** Its direction is that of its first strong character; the style sheet says the same of each further line in it. */
function lineOf(node: Text): HTMLElement {
  const line = document.createElement("span");
  line.className = "line";
  line.dir = "auto";
  line.append(node);
  return line;
}
