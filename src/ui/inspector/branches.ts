import type { WordLoom } from "../word-loom/word-loom";
import type { WrittenToken } from "../word-loom/written-token";

/** Another text than the one that was first written: where it parts, and what stands there instead. */
export interface BranchPlace {
  index: number;
  token: string;
  before: string;
}

export interface Branch {
  /** Undefined: the text that was written first. */
  place: BranchPlace | undefined;
  depth: number;
  text: string;
  tokens: readonly WrittenToken[];
}

/** The texts that came of one prompt by branching; one of them is on the page. */
export class Branches {
  #list: Branch[] = [];
  #current: Branch | undefined;

  get list(): readonly Branch[] {
    return this.#list;
  }

  get current(): Branch | undefined {
    return this.#current;
  }

  /** Before the element branches: what is on the page is kept, and its branch begins. */
  begin(loom: WordLoom, place: BranchPlace): void {
    const from = this.#keepCurrent(loom);
    const branch: Branch = { place, depth: from.depth + 1, text: "", tokens: [] };
    this.#list.splice(this.#endOf(from), 0, branch);
    this.#current = branch;
  }

  /** Puts a branch back on the page; the one that is there is kept. */
  show(loom: WordLoom, branch: Branch): void {
    this.#keepCurrent(loom);
    this.#current = branch;
    loom.replaceText(branch.text, branch.tokens);
  }

  clear(): void {
    this.#list = [];
    this.#current = undefined;
  }

  #keepCurrent({ text, tokens }: WordLoom): Branch {
    const current = this.#current ?? { place: undefined, depth: 0, text, tokens };
    if (!this.#current) this.#list = [current];
    current.text = text;
    current.tokens = tokens.slice();
    return current;
  }

  /** Behind a branch and all that came of it. */
  #endOf(branch: Branch): number {
    const at = this.#list.indexOf(branch);
    const next = this.#list.findIndex(({ depth }, index) => index > at && depth <= branch.depth);
    return next < 0 ? this.#list.length : next;
  }
}
