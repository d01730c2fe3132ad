/** The `decoder` of tokenizer.json: one piece → the exact bytes that it adds to the text. */
import { unspellBytes } from "./byte-alphabet";
import { character, count, flag, list, record, text, typeOf, unsupported, type JsonRecord } from "./json-fields";
import { readPattern, replaceMatches } from "./text-pattern";
import { checkGrowth, checkSpelling, checkSteps } from "./tokenizer-limits";

export interface ByteDecoder {
  /** Bytes of a piece of the model's vocabulary; `isFirst`: it is the first of the text. */
  bytesOf(piece: string, isFirst: boolean): Uint8Array;
  /** Bytes of an added token. */
  bytesOfAdded(content: string, isFirst: boolean): Uint8Array;
}

/** A piece on its way: text as long as it is text, then bytes that no later step touches. */
type Step = (piece: string, isFirst: boolean) => string | Uint8Array;

const utf8 = new TextEncoder();

/**
 * Decoders work token by token here, so that streaming costs the same for each token; a decoder that has to see the
 * whole text is refused.
 *
 * @param config `decoder` of tokenizer.json; null or absent: pieces are joined by blanks, as the reference does
 * @throws `tokenizer-unsupported` for a kind that cannot be streamed exactly, `file-invalid` for a wrong shape
 */
export function createByteDecoder(config: unknown): ByteDecoder {
  const steps: Step[] = [];
  const seen = { fused: false, byteLevel: false };
  if (config === null || config === undefined) steps.push((piece, isFirst) => (isFirst ? piece : ` ${piece}`));
  else addSteps(record(config, "decoder"), "decoder", steps, seen);
  checkSteps(steps.length, "decoders");

  const bytesOf = (piece: string, isFirst: boolean): Uint8Array => {
    let current: string | Uint8Array = piece;
    for (const step of steps) {
      current = step(current, isFirst);
      if (typeof current !== "string") return current;
      checkGrowth(piece.length, current.length, "a decoder");
    }
    return utf8.encode(current);
  };
  return {
    bytesOf,
    // Added tokens are plain text: letters such as "ï" are members of the byte alphabet, and would become single bytes.
    // The other decoders do apply (Gemma's runs of "▁" are added tokens).
    bytesOfAdded: seen.byteLevel ? (content) => utf8.encode(content) : bytesOf,
  };
}

function addSteps(component: JsonRecord, place: string, steps: Step[], seen: { fused: boolean; byteLevel: boolean }) {
  const type = typeOf(component, place);
  switch (type) {
    case "Sequence":
      list(component["decoders"], `${place}.decoders`).forEach((step, i) =>
        addSteps(record(step, `${place}.decoders[${i}]`), `${place}.decoders[${i}]`, steps, seen),
      );
      return;
    case "ByteLevel":
      seen.fused = true; // what follows sees one text
      seen.byteLevel = true;
      steps.push((piece) => unspellBytes(piece) ?? piece);
      return;
    case "ByteFallback":
      steps.push(fallbackByte);
      return;
    case "Fuse":
      seen.fused = true;
      return;
    case "Replace": {
      const pattern = readPattern(component["pattern"], `${place}.pattern`);
      const content = checkSpelling(text(component["content"], `${place}.content`), "a replacement");
      if (pattern !== undefined) steps.push((piece) => replaceMatches(piece, pattern, content));
      return;
    }
    case "Strip":
      steps.push(strip(component, place, seen.fused));
      return;
    case "Metaspace":
      steps.push(metaspace(component, place));
      return;
    case "WordPiece":
      steps.push(wordPiece(component, place));
      return;
    default:
      throw unsupported(`the decoder ${type}`);
  }
}

/** `<0x0A>` → its byte. ASCII stays text, which later steps may still change. */
function fallbackByte(piece: string): string | Uint8Array {
  const hex = /^<0x([0-9A-Fa-f]{2})>$/.exec(piece)?.[1];
  if (hex === undefined) return piece;
  const byte = parseInt(hex, 16);
  return byte < 0x80 ? String.fromCharCode(byte) : Uint8Array.of(byte);
}

function strip(component: JsonRecord, place: string, fused: boolean): Step {
  const content = text(component["content"], `${place}.content`);
  const start = count(component["start"], `${place}.start`);
  const stop = count(component["stop"], `${place}.stop`);
  if (fused && (start > 1 || stop > 0)) throw unsupported(`the decoder Strip with start ${start} and stop ${stop}`);
  return (piece, isFirst) => {
    if (fused && !isFirst) return piece;
    const characters = Array.from(piece);
    let from = 0;
    while (from < start && characters[from] === content) from += 1;
    let to = characters.length;
    while (to > from && characters.length - to < stop && characters[to - 1] === content) to -= 1;
    return characters.slice(from, to).join("");
  };
}

function metaspace(component: JsonRecord, place: string): Step {
  const replacement = character(component["replacement"], `${place}.replacement`);
  const prefixed = flag(component["add_prefix_space"], `${place}.add_prefix_space`, true);
  const drops = (component["prepend_scheme"] ?? (prefixed ? "always" : "never")) !== "never";
  return (piece, isFirst) => piece.replaceAll(replacement, isFirst && drops ? "" : " ");
}

function wordPiece(component: JsonRecord, place: string): Step {
  const prefix = text(component["prefix"], `${place}.prefix`);
  const cleanup = flag(component["cleanup"], `${place}.cleanup`, true);
  return (piece, isFirst) => {
    const joined = isFirst ? piece : piece.startsWith(prefix) ? piece.slice(prefix.length) : ` ${piece}`;
    return cleanup ? withoutEnglishGaps(joined) : joined;
  };
}

/** As the reference's WordPiece decoder: " ." → "." and so on. */
function withoutEnglishGaps(piece: string): string {
  const gaps: readonly (readonly [string, string])[] = [
    [" .", "."],
    [" ?", "?"],
    [" !", "!"],
    [" ,", ","],
    [" ' ", "'"],
    [" n't", "n't"],
    [" 'm", "'m"],
    [" do not", " don't"],
    [" 's", "'s"],
    [" 've", "'ve"],
    [" 're", "'re"],
  ];
  return gaps.reduce((current, [gap, closed]) => current.replaceAll(gap, closed), piece);
}
