/**
 * Grows a text in the page, one text node at a time and never as HTML.
 *
 * Appending costs the length of what is appended. Each line of the text after the first is a block of its own, so
 * that the browser lays out again only the paragraph being written. A newline stays in the text (at the end of its
 * block, where it makes no line of its own): `container.textContent` is exactly what was appended.
 */
export class TextFlow {
  readonly #container: HTMLElement;
  #line: Text | undefined;
  #lineEnded = false;

  constructor(container: HTMLElement) {
    this.#container = container;
  }

  append(text: string): void {
    let start = 0;
    while (start < text.length) {
      const newline = text.indexOf("\n", start);
      const end = newline < 0 ? text.length : newline + 1;
      this.#appendToLine(text.slice(start, end));
      this.#lineEnded = newline >= 0;
      start = end;
    }
  }

  clear(): void {
    this.#container.replaceChildren();
    this.#line = undefined;
    this.#lineEnded = false;
  }

  #appendToLine(text: string): void {
    if (this.#line && !this.#lineEnded) {
      this.#line.appendData(text);
      return;
    }
    const line = document.createTextNode(text);
    if (this.#line === undefined) {
      this.#container.append(line); // flows on from the prompt, on the same line
    } else {
      const block = document.createElement("span");
      block.className = "line";
      block.dir = "auto";
      block.append(line);
      this.#container.append(block);
    }
    this.#line = line;
  }
}
