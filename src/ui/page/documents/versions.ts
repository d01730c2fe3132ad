import type { SavedToken } from "../../word-loom/written-token";

/** A beginning, and what was written from it. */
export interface Version {
  readonly prompt: string;
  readonly text: string;
  readonly tokens: readonly SavedToken[];
}

/** The versions of one text: what was written anew stands beside what was there before, and one of them is shown. */
export class Versions {
  #all: readonly Version[];
  #at: number;

  constructor(all: readonly Version[] = [], at = all.length - 1) {
    this.#all = all;
    this.#at = Math.min(at, all.length - 1);
  }

  get all(): readonly Version[] {
    return this.#all;
  }

  /** From 0; -1 where there is none. */
  get at(): number {
    return this.#at;
  }

  get shown(): Version | undefined {
    return this.#all[this.#at];
  }

  /** What goes on from the one that is shown takes its place; any other stands behind all. */
  add(version: Version): void {
    const { shown } = this;
    const goesOn = shown !== undefined && version.prompt === shown.prompt && version.text.startsWith(shown.text);
    if (goesOn) this.#all = this.#all.with(this.#at, version);
    else {
      this.#all = [...this.#all, version];
      this.#at = this.#all.length - 1;
    }
  }

  /** @returns the one that is shown now; undefined where there is none on that side */
  step(by: -1 | 1): Version | undefined {
    const version = this.#all[this.#at + by];
    if (version) this.#at += by;
    return version;
  }
}
