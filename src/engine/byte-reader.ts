/** Reads a byte stream in order, at positions of the file it comes from. */
import { WordloomError } from "../errors";

export class ByteReader {
  /** Of the next byte, in the file. */
  position: number;
  #chunk = new Uint8Array(0);
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  /**
   * @param position of the stream's first byte in the file
   * @param file its name, for messages
   * @param onRead called with the new position whenever bytes have been taken
   */
  constructor(
    stream: ReadableStream<Uint8Array>,
    position: number,
    private readonly file: string,
    private readonly onRead: (position: number) => void,
  ) {
    this.position = position;
    this.#reader = stream.getReader();
  }

  /**
   * Fills `target`; nothing of the stream is kept but the rest of one chunk.
   *
   * @throws WordloomError file-invalid if the stream ends before
   */
  async readInto(target: Uint8Array): Promise<void> {
    for (let filled = 0; filled < target.length;) {
      const part = await this.#take(target.length - filled, this.position + target.length - filled);
      target.set(part, filled);
      filled += part.length;
    }
  }

  /** Drops the bytes before `position`. */
  async skipTo(position: number): Promise<void> {
    while (this.position < position) await this.#take(position - this.position, position);
  }

  /** Gives the stream up; it may have failed or ended already. */
  async close(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined);
  }

  /** Between one and `most` bytes. */
  async #take(most: number, neededEnd: number): Promise<Uint8Array> {
    while (this.#chunk.length === 0) {
      const { done, value } = await this.#reader.read();
      if (done) {
        const message = `${this.file} ends at byte ${this.position}; its header describes data up to ${neededEnd}`;
        throw new WordloomError("file-invalid", message);
      }
      this.#chunk = value as Uint8Array<ArrayBuffer>; // what the DOM types call it; never shared memory here
    }
    const part = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(part.length);
    this.position += part.length;
    this.onRead(this.position);
    return part;
  }
}
