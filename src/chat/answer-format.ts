/**
 * How a model marks, inside its answer, what is not for the reader: its reasoning, and calls of tools. Found in its chat
 * template and in the spellings of its added tokens, never by the model's name.
 *
 * The formats are those of the models' own published chat templates: Hermes and Qwen, Qwen3-Coder, Llama 3.1 to 3.3,
 * Mistral, Granite 3, Phi-4-mini, LFM2.
 */

export interface AnswerFormat {
  reasoning: { open: string; close: string } | undefined;
  calls: CallFormat | undefined;
}

export interface CallFormat {
  /** What stands before a call, or before a list of calls. */
  open: string;
  /** What stands after it; undefined: the answer's end, or the next `open`. */
  close: string | undefined;
  /** The text between: JSON (with its kin, see call-syntax.ts), tags for functions and parameters, or Python. */
  syntax: "json" | "tags" | "python";
  /** An answer that begins with a JSON object may be a call without any mark. */
  bare: boolean;
}

/** An added token, as the tokenizer has it; a special one gives the answer's text no characters. */
export interface AddedSpelling {
  id: number;
  content: string;
  special: boolean;
}

const marked = (open: string, close: string | undefined, syntax: CallFormat["syntax"] = "json"): CallFormat => ({
  open,
  close,
  syntax,
  bare: false,
});

/** @param template undefined for a model without one, whose answers have no parts */
export function answerFormatOf(template: string | undefined, added: readonly AddedSpelling[]): AnswerFormat {
  if (template === undefined) return { reasoning: undefined, calls: undefined };
  const spellings = new Set(added.map(({ content }) => content));
  const uses = (spelling: string) => template.includes(spelling) || spellings.has(spelling);
  const pairs = [
    { open: "<think>", close: "</think>" },
    { open: "[THINK]", close: "[/THINK]" },
  ];
  return {
    reasoning: pairs.find(({ open, close }) => uses(open) || template.includes(close)),
    calls: takesTools(template) ? callFormat(template, spellings) : undefined,
  };
}

/** Whether a chat template has a place for tools. */
export function takesTools(template: string): boolean {
  return /\btools\b/.test(template);
}

/** What the template itself spells decides; the added tokens only where its text spells no mark. */
function callFormat(template: string, spellings: ReadonlySet<string>): CallFormat | undefined {
  const granite = () => marked("<|tool_call|>", spellings.has("<|/tool_call|>") ? "<|/tool_call|>" : undefined);
  if (template.includes("<tool_call>")) {
    return marked("<tool_call>", "</tool_call>", template.includes("<function=") ? "tags" : "json");
  }
  if (template.includes("[TOOL_CALLS]")) return marked("[TOOL_CALLS]", undefined);
  if (template.includes("<|tool_call|>")) return granite();
  if (template.includes("<|tool_call_start|>")) return marked("<|tool_call_start|>", "<|tool_call_end|>", "python");
  if (template.includes("<|python_tag|>") || template.includes('"parameters": dictionary')) {
    return { open: "<|python_tag|>", close: undefined, syntax: "json", bare: true };
  }
  if (spellings.has("<tool_call>")) return marked("<tool_call>", "</tool_call>");
  if (spellings.has("[TOOL_CALLS]")) return marked("[TOOL_CALLS]", undefined);
  if (spellings.has("<|tool_call|>")) return granite();
  if (spellings.has("<|tool_call_start|>")) return marked("<|tool_call_start|>", "<|tool_call_end|>", "python");
  return undefined;
}
