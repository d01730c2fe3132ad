/**
 * Chat messages → the text a model was tuned on, by the model's own Jinja template, set up as transformers does:
 * `trim_blocks`, `lstrip_blocks`, `raise_exception`, `strftime_now`, the special tokens as variables,
 * `add_generation_prompt` true. `@huggingface/jinja` parses the template, template-evaluator.ts runs it.
 */
import type * as jinja from "@huggingface/jinja";
import { WordloomError } from "../errors";
import { isRecord } from "./json-fields";
import { strftime } from "./strftime";
import { runTemplate } from "./template-evaluator";
import type { ProgramNode } from "./template-nodes";
import { Callable } from "./template-values";
import type { ChatMessage } from "./tokenizer";

/** What the template finds under these names is not the caller's to say. */
export function isReservedName(name: string): boolean {
  return Object.hasOwn(CONSTANTS, name) || RESERVED.has(name);
}

const RESERVED: ReadonlySet<string> = new Set([
  ...["messages", "tools", "add_generation_prompt", "strftime_now"],
  ...["range", "namespace", "dict", "loop"], // Jinja's own
]);

/** The longest published template has 20,000 characters. */
const MAX_TEMPLATE_LENGTH = 1 << 18;
/** The package searches runs of white space in a time that grows with their square. */
const MAX_BLANK_RUN = 500;

/**
 * @param variables further names for the template (`bos_token`, …); also `tools`, `documents` and
 *   `add_generation_prompt`, which are none, none and true otherwise
 * @param now what `strftime_now` reads
 * @throws `template-failed` if the template refuses the messages, is not valid Jinja, uses what is not supported or
 *   works without end (see template-evaluator.ts), and for content that is not text
 */
export async function renderChat(
  template: string,
  messages: readonly ChatMessage[],
  variables: Readonly<Record<string, unknown>>,
  now: () => Date = () => new Date(),
): Promise<string> {
  messages.forEach(checkMessage);
  return renderWith(await import("@huggingface/jinja"), template, messages, variables, now);
}

/** Of `@huggingface/jinja`, which is loaded when the first messages come. */
type Parser = Pick<typeof jinja, "parse" | "tokenize">;

/** As `renderChat`, of messages that were checked, with the parser at hand. */
export function renderWith(
  parser: Parser,
  template: string,
  messages: readonly ChatMessage[],
  variables: Readonly<Record<string, unknown>>,
  now: () => Date,
): string {
  const program = attempt(() => {
    if (template.length > MAX_TEMPLATE_LENGTH) {
      throw new Error(`it has ${template.length} characters; ${MAX_TEMPLATE_LENGTH} are the most`);
    }
    if (new RegExp(`\\s{${MAX_BLANK_RUN}}`).test(template)) throw new Error(`it has ${MAX_BLANK_RUN} blanks in a row`);
    // Its own types are not exported.
    return parser.parse(
      parser.tokenize(template, { lstrip_blocks: true, trim_blocks: true }),
    ) as unknown as ProgramNode;
  });
  const render = (shown: readonly ChatMessage[]): string =>
    attempt(() =>
      runTemplate(program, {
        tools: null,
        documents: null,
        add_generation_prompt: true,
        ...variables,
        ...CONSTANTS,
        messages: shown,
        strftime_now: new Callable(([format]) => strftime(typeof format === "string" ? format : "", now())),
      }),
    );

  if (messages.every((message) => typeof message.content === "string")) return render(messages);
  return renderParts(messages, render);
}

/** Besides `range`, `namespace` and `dict`, which are Jinja's own. */
const CONSTANTS = {
  ...{ true: true, True: true, false: false, False: false, none: null, None: null },
  raise_exception: new Callable(([message]) => {
    throw new Error(typeof message === "string" ? message : "raise_exception");
  }),
};

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    // A template that calls itself without end comes here as well, as a RangeError.
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WordloomError("template-failed", `the chat template failed: ${reason}`, { cause });
  }
}

/**
 * Some templates walk content given as parts; others print content as a string, and would print the list. Where the
 * template does not show each part as its text, it gets the parts joined (without anything between them).
 */
function renderParts(messages: readonly ChatMessage[], render: (shown: readonly ChatMessage[]) => string): string {
  const joined = messages.map((message) => ({ ...message, content: textsOf(message).join("") }));
  let walked: string;
  try {
    walked = render(messages);
  } catch {
    return render(joined); // "content" + list, for instance; if this fails as well, this is the error to show
  }
  const shows = messages.flatMap(textsOf).every((part) => walked.includes(part.trim()));
  const printed = /\[object|["']type["']\s*:\s*["']text["']/;
  const own = joined.some((message) => printed.test(message.content)); // the texts themselves look like that
  return shows && (own || !printed.test(walked)) ? walked : render(joined);
}

function textsOf(message: ChatMessage): string[] {
  return typeof message.content === "string" ? [message.content] : message.content.map((part) => part.text);
}

function checkMessage(message: ChatMessage, i: number): void {
  const remedy = { remedy: "Give each message a role, and a string or text parts as its content." };
  const fail = (what: string) => new WordloomError("template-failed", `messages[${i}] ${what}`, remedy);
  // Callers without TypeScript pass anything.
  const given: unknown = message;
  if (!isRecord(given) || typeof given["role"] !== "string") throw fail("has no role");
  const { content } = given;
  if (typeof content === "string") return;
  if (!Array.isArray(content)) throw fail("has no content");
  for (const part of content as unknown[]) {
    const type = isRecord(part) ? part["type"] : undefined;
    if (type !== "text") throw fail(`has a part of type ${JSON.stringify(type)}; only "text" is supported`);
    if (!isRecord(part) || typeof part["text"] !== "string") throw fail("has a text part without text");
  }
}
