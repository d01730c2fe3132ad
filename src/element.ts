/** `import "wordloom/element"` registers `<word-loom>`. */
export { WordLoom, type WordLoomState } from "./ui/word-loom/word-loom";
export type { WordLoomEventDetails, WordLoomEventMap } from "./ui/word-loom/events";
export type { Alternative, SavedToken, WrittenToken } from "./ui/word-loom/written-token";
