/**
 * Bytes → the data of server-sent events, however the bytes are cut.
 *
 * Source: WHATWG HTML, "Server-sent events", 9.2.6: lines end with CR, LF or CRLF; an empty line ends an event; a line
 * that begins with a colon is a comment (servers send those to keep a connection open).
 */

/** More than this without the end of an event is no event stream: the largest events are log-probabilities, some kB. */
const MAX_EVENT_UNITS = 4 * 1024 * 1024;

export class EventStream {
  readonly #decoder = new TextDecoder();
  /** The beginning of a line whose end has not come. */
  #line = "";
  #data: string[] = [];
  #dataUnits = 0;
  /** The last line ended with CR at the very end of what came: an LF that follows belongs to it. */
  #afterCr = false;

  /**
   * @returns the data of each event that is complete now, in order; never empty strings
   * @throws RangeError if an event does not end
   */
  push(bytes: Uint8Array): string[] {
    const events: string[] = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    if (this.#afterCr && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") this.#afterCr = false;
    let start = 0;
    for (const { 0: end, index } of text.matchAll(/\r\n|\r|\n/g)) {
      const data = this.#endLine(this.#line + text.slice(start, index));
      this.#line = "";
      if (data !== undefined) events.push(data);
      start = index + end.length;
      this.#afterCr = end === "\r" && start === text.length;
    }
    this.#line += text.slice(start);
    if (this.#line.length + this.#dataUnits > MAX_EVENT_UNITS) {
      throw new RangeError(`an event has more than ${MAX_EVENT_UNITS} characters`);
    }
    return events;
  }

  #endLine(line: string): string | undefined {
    if (line === "") {
      const data = this.#data.join("\n");
      this.#data = [];
      this.#dataUnits = 0;
      return data === "" ? undefined : data;
    }
    const field = /^(data|error)(?:: ?(.*))?$/s.exec(line);
    if (field) {
      const [, name, value = ""] = field;
      // "error" is no field of the standard; llama.cpp's server told failures under it until 2025.
      const data = name === "error" ? `{"error":${value}}` : value;
      this.#data.push(data);
      this.#dataUnits += data.length;
    }
    return undefined;
  }
}
