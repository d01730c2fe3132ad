/**
 * A sampled answer need not be what the tokenizer makes of the same text ("ab" may have come as "a", "b"). Where the next
 * prompt shows it unchanged, its ids stay those that were sampled, so that what the KV cache holds of them can stay, too.
 */

/** The bytes an id adds to a text; undefined for a special token, which is equal to nothing but itself. */
export type SpellId = (id: number) => Uint8Array | undefined;

/**
 * `fresh` with its beginning spelled as `known` spells it: up to the last place where both have the same text before it
 * and a border between two tokens. The text is that of `fresh`, to the byte.
 *
 * @param fresh the prompt as the tokenizer gives it
 * @param known an earlier prompt with its answer
 */
export function withKnownIds(fresh: Uint32Array, known: Uint32Array, spell: SpellId): Uint32Array {
  const { known: kept, fresh: replaced } = lastCommonBorder(fresh, known, spell);
  const ids = new Uint32Array(kept + fresh.length - replaced);
  ids.set(known.subarray(0, kept));
  ids.set(fresh.subarray(replaced), kept);
  return ids;
}

function lastCommonBorder(fresh: Uint32Array, known: Uint32Array, spell: SpellId): { known: number; fresh: number } {
  let border = { known: 0, fresh: 0 };
  let [knownAt, freshAt] = [0, 0];
  // Bytes of the tokens since the border that the other side has not matched yet; one of the two is always empty.
  let [knownRest, freshRest]: [Uint8Array, Uint8Array] = [NO_BYTES, NO_BYTES];
  for (;;) {
    if (knownRest.length === 0 && freshRest.length === 0) {
      border = { known: knownAt, fresh: freshAt };
      const id = known[knownAt];
      if (id === undefined || freshAt >= fresh.length) return border;
      if (id === fresh[freshAt]) {
        knownAt++;
        freshAt++;
        continue;
      }
    }
    if (knownRest.length === 0) {
      const bytes = bytesAt(known, knownAt++, spell);
      if (!bytes) return border;
      knownRest = bytes;
    }
    if (freshRest.length === 0) {
      const bytes = bytesAt(fresh, freshAt++, spell);
      if (!bytes) return border;
      freshRest = bytes;
    }
    const length = Math.min(knownRest.length, freshRest.length);
    for (let at = 0; at < length; at++) if (knownRest[at] !== freshRest[at]) return border;
    knownRest = knownRest.subarray(length);
    freshRest = freshRest.subarray(length);
  }
}

const NO_BYTES = new Uint8Array(0);

/** Undefined at the end, and for what has no bytes: its place in the text could not be told. */
function bytesAt(ids: Uint32Array, at: number, spell: SpellId): Uint8Array | undefined {
  const id = ids[at];
  const bytes = id === undefined ? undefined : spell(id);
  return bytes?.length === 0 ? undefined : bytes;
}
