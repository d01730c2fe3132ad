/** One model for the AI SDK: version 4 of its language model interface. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
  SharedV4Warning,
} from "@ai-sdk/provider";
import type { AnswerConstraint } from "../../api/constraint-option";
import type { GenerateOptions } from "../../api/generate-options";
import type { AnswerPart } from "../../chat/answer-parts";
import { joinParts } from "../../chat/assistant-message";
import type { GenerationEnd } from "../../engine/engine";
import { partsOf, roomOf, type AdaptedGenerator, type AdaptedRun, type LazyGenerator } from "../generator";
import { chatMessagesOf, toolsOf } from "./prompt";

export class WordloomLanguageModel implements LanguageModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = "wordloom";
  /** None: images and files are not supported. */
  readonly supportedUrls: Record<string, RegExp[]> = {};

  constructor(
    readonly modelId: string,
    private readonly generator: LazyGenerator,
  ) {}

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const { run, warnings } = await this.#start(options);
    const parts: AnswerPart[] = [];
    for await (const chunk of run) parts.push(...partsOf(chunk));
    const end = await run.end;
    return {
      content: joinParts(parts).map(contentOf),
      finishReason: finishReasonOf(end, parts.some(isCall)),
      usage: usageOf(end),
      warnings,
      response: this.#metadata(),
    };
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const abort = new AbortController();
    const signals = [abort.signal, ...(options.abortSignal ? [options.abortSignal] : [])];
    const { run, warnings } = await this.#start({ ...options, abortSignal: AbortSignal.any(signals) });
    const parts = streamParts(run);
    const first = await parts.next(); // what fails before it is the call's failure, not the stream's
    const metadata: LanguageModelV4StreamPart = { type: "response-metadata", ...this.#metadata() };
    const queued = [{ type: "stream-start", warnings } as const, metadata, ...(first.done ? [] : [first.value])];
    const stream = new ReadableStream<LanguageModelV4StreamPart>(
      {
        async pull(controller) {
          const part = queued.shift();
          if (part) {
            controller.enqueue(part);
            return;
          }
          try {
            const { done, value } = await parts.next();
            if (done) controller.close();
            else controller.enqueue(value);
          } catch (error) {
            if (options.abortSignal?.aborted) {
              controller.error(error);
              return;
            }
            controller.enqueue({ type: "error", error });
            controller.close();
          }
        },
        cancel(reason) {
          abort.abort(reason);
        },
      },
      { highWaterMark: 0 },
    );
    return { stream };
  }

  async #start(options: LanguageModelV4CallOptions): Promise<{ run: AdaptedRun; warnings: SharedV4Warning[] }> {
    options.abortSignal?.throwIfAborted();
    const generator = await this.generator.get();
    const { settings, warnings } = settingsOf(options, generator);
    return { run: generator.generate(chatMessagesOf(options.prompt), settings), warnings };
  }

  #metadata(): { id: string; timestamp: Date; modelId: string } {
    return { id: crypto.randomUUID(), timestamp: new Date(), modelId: this.modelId };
  }
}

/** What the SDK has no name for (`minP`, `templateOptions`, …) stands in `providerOptions.wordloom`. */
function settingsOf(
  options: LanguageModelV4CallOptions,
  generator: AdaptedGenerator,
): { settings: GenerateOptions; warnings: SharedV4Warning[] } {
  const { temperature, topP, topK, presencePenalty, frequencyPenalty, seed, stopSequences, abortSignal } = options;
  const tools = toolsOf(options);
  const constraint = constraintOf(options, generator, tools.length > 0);
  const given = {
    constraint,
    ...{ temperature, topP, topK, presencePenalty, frequencyPenalty, seed },
    stop: stopSequences?.length ? stopSequences : undefined,
    tools: tools.length === 0 ? undefined : tools,
    signal: abortSignal,
  };
  const settings = {
    maxNewTokens: options.maxOutputTokens ?? roomOf(generator),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...options.providerOptions?.["wordloom"],
  } as GenerateOptions; // `generate` checks each by its name
  return { settings, warnings: warningsOf(options, constraint !== undefined) };
}

/** A constraint holds for the whole answer, calls too; a server's is its own affair. */
function constraintOf(
  { responseFormat }: LanguageModelV4CallOptions,
  { info }: AdaptedGenerator,
  hasTools: boolean,
): AnswerConstraint | undefined {
  if (responseFormat?.type !== "json" || hasTools || info.backend === "remote") return undefined;
  return { jsonSchema: (responseFormat.schema ?? { type: "object" }) as Record<string, unknown> };
}

/** By the SDK's own custom what cannot be done is told, and not refused, where the SDK checks the outcome itself. */
function warningsOf(
  { responseFormat, reasoning, tools = [] }: LanguageModelV4CallOptions,
  isConstrained: boolean,
): SharedV4Warning[] {
  const warnings: SharedV4Warning[] = [];
  const warn = (feature: string, details: string) => warnings.push({ type: "unsupported", feature, details });
  if (responseFormat?.type === "json" && !isConstrained) {
    warn("responseFormat", "nothing makes the model write JSON: not together with tools, and not on a server");
  }
  if (reasoning !== undefined && reasoning !== "provider-default") {
    warn("reasoning", "pass what the model's template reads in providerOptions.wordloom.templateOptions");
  }
  for (const tool of tools) {
    if (tool.type !== "function") continue;
    if (tool.strict === true) warn("strict", `nothing enforces the schema of the tool ${tool.name}`);
    if (tool.inputExamples?.length) warn("inputExamples", `those of the tool ${tool.name} are not shown to the model`);
  }
  return warnings;
}

async function* streamParts(run: AdaptedRun): AsyncGenerator<LanguageModelV4StreamPart, undefined> {
  let open: { type: "text" | "reasoning"; id: string } | undefined;
  let count = 0;
  let hasCalls = false;
  for await (const chunk of run) {
    for (const part of partsOf(chunk)) {
      if (open && open.type !== part.type) {
        yield { type: `${open.type}-end`, id: open.id };
        open = undefined;
      }
      if (part.type === "tool-call") {
        hasCalls = true;
        const { id, name, arguments: given } = part;
        const input = JSON.stringify(given);
        yield { type: "tool-input-start", id, toolName: name };
        yield { type: "tool-input-delta", id, delta: input };
        yield { type: "tool-input-end", id };
        yield { type: "tool-call", toolCallId: id, toolName: name, input };
        continue;
      }
      if (!open) {
        open = { type: part.type, id: String(count++) };
        yield { type: `${open.type}-start`, id: open.id };
      }
      yield { type: `${open.type}-delta`, id: open.id, delta: part.text };
    }
  }
  if (open) yield { type: `${open.type}-end`, id: open.id };
  const end = await run.end;
  yield { type: "finish", finishReason: finishReasonOf(end, hasCalls), usage: usageOf(end) };
}

function isCall(part: AnswerPart): boolean {
  return part.type === "tool-call";
}

function contentOf(part: AnswerPart): LanguageModelV4Content {
  if (part.type !== "tool-call") return { type: part.type, text: part.text };
  return { type: "tool-call", toolCallId: part.id, toolName: part.name, input: JSON.stringify(part.arguments) };
}

function finishReasonOf({ finishReason: raw }: GenerationEnd, hasCalls: boolean): LanguageModelV4FinishReason {
  if (raw === "stop") return { unified: hasCalls ? "tool-calls" : "stop", raw };
  return { unified: raw === "abort" ? "other" : "length", raw };
}

function usageOf({ usage: { promptTokens, cachedTokens, completionTokens } }: GenerationEnd): LanguageModelV4Usage {
  return {
    inputTokens: {
      total: promptTokens,
      noCache: promptTokens - cachedTokens,
      cacheRead: cachedTokens,
      cacheWrite: undefined,
    },
    outputTokens: { total: completionTokens, text: undefined, reasoning: undefined }, // not told apart
  };
}
