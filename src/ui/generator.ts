/** What the elements use of a TextGenerator, and its types by their own names. */
import type { LoadOptions } from "../api/options";
import type { AnyTextGenerator, TextGenerator } from "../api/text-generator";

type Run = ReturnType<AnyTextGenerator["generate"]>;

export type GenerateOptions = NonNullable<Parameters<TextGenerator["generate"]>[1]>;
/** Of a model on this device. */
export type GeneratorInfo = TextGenerator["info"];
/** Of a model on this device or on a server. */
export type AnyInfo = AnyTextGenerator["info"];
export type LoadProgress = Parameters<NonNullable<LoadOptions["onProgress"]>>[0];
export type GenerationEnd = Awaited<Run["end"]>;
export type TextChunk = Run extends AsyncIterable<infer Chunk> ? Chunk : never;
/** No server tells rank and entropy. */
export type GeneratedToken = TextChunk["tokens"][number] & Pick<LocalToken, "rank" | "entropy">;
type TokenOf<Chunk> = Chunk extends { tokens: (infer Token)[] } ? Token : never;
type LocalToken = ReturnType<TextGenerator["generate"]> extends AsyncIterable<infer Chunk> ? TokenOf<Chunk> : never;

export interface Generator extends Pick<AnyTextGenerator, "info" | "tokenize" | "dispose"> {
  generate(input: string | readonly number[], options: GenerateOptions): AsyncIterable<TextChunk> & Pick<Run, "end">;
}
