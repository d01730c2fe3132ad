/** Chunks of an answer to chat messages → the same chunks with their parts: text, reasoning, calls of tools. */
import { answerFormatOf, takesTools } from "../chat/answer-format";
import { AnswerParts, type AnswerPart } from "../chat/answer-parts";
import { WordloomError } from "../errors";
import type { Tokenizer } from "../tokenizer/tokenizer";
import type { ChunkContent } from "./answer-stream";
import type { ChatInput, TaggedInput } from "./request";

export class ChunkParts {
  readonly #parts: AnswerParts;
  readonly #specials: ReadonlyMap<number, string>;
  /** UTF-16 units of the answer that the parts have had, and up to the last token seen. */
  #fed = 0;
  #tokenEnd = 0;

  /**
   * @param promptTokens their end tells whether the template has begun the reasoning itself
   * @returns undefined for input that is continued as it is
   * @throws WordloomError tools-unsupported for a template whose calls are in no known format
   */
  static for(input: TaggedInput, promptTokens: Uint32Array, tokenizer: Tokenizer): ChunkParts | undefined {
    return input.kind === "chat" ? new ChunkParts(input, promptTokens, tokenizer) : undefined;
  }

  private constructor({ tools = [] }: ChatInput, promptTokens: Uint32Array, tokenizer: Tokenizer) {
    const { chatTemplate, addedTokens } = tokenizer;
    const format = answerFormatOf(chatTemplate, addedTokens);
    if (tools.length > 0 && !format.calls && chatTemplate !== undefined && takesTools(chatTemplate)) {
      throw new WordloomError("tools-unsupported", "how this model writes the calls of tools is not known");
    }
    const specials = addedTokens.filter(({ special }) => special);
    this.#specials = new Map(specials.map(({ id, content }) => [id, content]));
    const { reasoning } = format;
    this.#parts = new AnswerParts(format, {
      insideReasoning: reasoning !== undefined && endsWith(reasoning.open, promptTokens, tokenizer, this.#specials),
      tools: new Map(tools.map((tool) => [tool.name, tool.parameters])),
      specials: new Set(this.#specials.values()),
    });
  }

  /** A special token stands where the texts of the tokens before it end, which may be behind this chunk's beginning. */
  add(chunk: ChunkContent): ChunkContent {
    const parts: AnswerPart[] = [];
    const start = this.#fed;
    const feedTo = (end: number) => {
      if (end <= this.#fed) return;
      parts.push(...this.#parts.push(chunk.text.slice(this.#fed - start, end - start)));
      this.#fed = end;
    };
    for (const token of chunk.tokens) {
      this.#tokenEnd += token.text.length;
      const spelling = this.#specials.get(token.id);
      if (spelling === undefined) continue;
      feedTo(this.#tokenEnd);
      parts.push(...this.#parts.pushSpecial(spelling));
    }
    feedTo(start + chunk.text.length);
    return { ...chunk, parts };
  }

  /** What was held back until the answer's end. */
  end(): ChunkContent | undefined {
    const parts = this.#parts.end();
    return parts.length === 0 ? undefined : { text: "", tokens: [], parts };
  }
}

/** Whether the prompt's text, blanks at its end left out, ends with `mark`. */
function endsWith(
  mark: string,
  promptTokens: Uint32Array,
  tokenizer: Tokenizer,
  specials: ReadonlyMap<number, string>,
): boolean {
  const decoder = new TextDecoder();
  let text = "";
  for (let at = promptTokens.length - 1; at >= 0 && text.trim().length < mark.length; at--) {
    const id = promptTokens[at] ?? 0; // below the length
    text = (specials.get(id) ?? decoder.decode(tokenizer.bytesOf(id, false))) + text;
  }
  return text.trimEnd().endsWith(mark);
}
