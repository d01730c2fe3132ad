/**
 * The merges of a BPE model: two neighbouring pieces → rank of their merge. A hash table in two typed arrays, since the
 * largest vocabularies have 600,000 merges: a Map of joined spellings takes three times as long and five times the memory.
 */
export class MergeTable {
  /** Left and right id, then rank, of each slot; an empty slot has -1. */
  private readonly slots: Int32Array;
  private readonly mask: number;

  /** @param capacity the most merges that will be set; a third of the slots and more stays empty */
  constructor(capacity: number) {
    let slotCount = 16;
    while (slotCount * 2 < capacity * 3) slotCount *= 2;
    this.mask = slotCount - 1;
    this.slots = new Int32Array(slotCount * 3).fill(-1);
  }

  /** A pair set again has its last rank. */
  set(left: number, right: number, rank: number): void {
    const at = this.slotOf(left, right);
    this.slots[at] = left;
    this.slots[at + 1] = right;
    this.slots[at + 2] = rank;
  }

  /** The rank (from 0, lower merges first), or -1. */
  rankOf(left: number, right: number): number {
    return this.slots[this.slotOf(left, right) + 2] ?? -1;
  }

  forEachPair(visit: (left: number, right: number) => void): void {
    for (let at = 0; at < this.slots.length; at += 3) {
      const left = this.slots[at] ?? -1;
      if (left !== -1) visit(left, this.slots[at + 1] ?? -1);
    }
  }

  /** Where the pair is, or the empty slot where it would be. */
  private slotOf(left: number, right: number): number {
    // Two odd multipliers of 32 bits (Knuth's and MurmurHash3's), high bits folded down.
    let hash = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let slot = hash & this.mask; ; slot = (slot + 1) & this.mask) {
      const at = slot * 3;
      const held = this.slots[at];
      if (held === -1 || (held === left && this.slots[at + 1] === right)) return at;
    }
  }
}
