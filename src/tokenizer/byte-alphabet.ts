/**
 * The GPT-2 byte alphabet: one printable character for each byte, in which ByteLevel vocabularies spell their pieces.
 * Source: Radford et al. 2019, `bytes_to_unicode` of gpt-2/src/encoder.py: printable Latin-1 stands for itself, the
 * other 68 bytes take U+0100, U+0101, … in order.
 */
const LETTER_OF: string[] = [];
const BYTE_OF = new Map<string, number>();

for (let byte = 0, moved = 0; byte < 256; byte++) {
  const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  const letter = String.fromCharCode(printable ? byte : 0x100 + moved++);
  LETTER_OF.push(letter);
  BYTE_OF.set(letter, byte);
}

const utf8 = new TextEncoder();

/** Text → its UTF-8 bytes, spelled in the alphabet. */
export function spellBytes(text: string): string {
  let spelled = "";
  for (const byte of utf8.encode(text)) spelled += LETTER_OF[byte];
  return spelled;
}

/** A spelled piece → its bytes; undefined if a character is not of the alphabet. */
export function unspellBytes(piece: string): Uint8Array | undefined {
  const bytes = new Uint8Array(piece.length); // each letter is one UTF-16 unit
  for (let i = 0; i < piece.length; i++) {
    const byte = BYTE_OF.get(piece.charAt(i));
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}
