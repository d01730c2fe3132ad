/**
 * Bytes → whole characters, a few bytes at a time: the UTF-8 decoder of the Encoding Standard (with the byte order mark
 * kept). Unlike TextDecoder it says whether a character is still incomplete.
 */
export class Utf8Stream {
  private codePoint = 0;
  private missing = 0; // continuation bytes still to come
  private lowest = 0x80; // of the next byte: rules out overlong forms and surrogates
  private highest = 0xbf;

  /** Bytes of a character have come, and more of it may follow. */
  get isInsideCharacter(): boolean {
    return this.missing > 0;
  }

  /** The characters that `bytes` complete; what can no longer become one is U+FFFD. */
  push(bytes: Uint8Array): string {
    let text = "";
    for (const byte of bytes) {
      if (this.missing > 0) {
        const fits = byte >= this.lowest && byte <= this.highest;
        this.lowest = 0x80;
        this.highest = 0xbf;
        if (fits) {
          this.codePoint = (this.codePoint << 6) | (byte & 0x3f);
          this.missing -= 1;
          if (this.missing === 0) text += String.fromCodePoint(this.codePoint);
          continue;
        }
        this.missing = 0;
        text += "\ufffd"; // and the byte is looked at again, as a first one
      }
      text += this.first(byte);
    }
    return text;
  }

  /** At the end: U+FFFD for a character that never became whole. */
  flush(): string {
    if (this.missing === 0) return "";
    this.missing = 0;
    this.lowest = 0x80;
    this.highest = 0xbf;
    return "\ufffd";
  }

  private first(byte: number): string {
    if (byte < 0x80) return String.fromCharCode(byte);
    if (byte >= 0xc2 && byte <= 0xdf) return this.expect(1, byte & 0x1f);
    if (byte >= 0xe0 && byte <= 0xef) {
      if (byte === 0xe0) this.lowest = 0xa0;
      if (byte === 0xed) this.highest = 0x9f;
      return this.expect(2, byte & 0x0f);
    }
    if (byte >= 0xf0 && byte <= 0xf4) {
      if (byte === 0xf0) this.lowest = 0x90;
      if (byte === 0xf4) this.highest = 0x8f;
      return this.expect(3, byte & 0x07);
    }
    return "\ufffd";
  }

  private expect(missing: number, bits: number): string {
    this.missing = missing;
    this.codePoint = bits;
    return "";
  }
}
