/** The smaller model that guesses for a larger one: read as any model is, and refused where its vocabulary is another. */
import type { Backend, BackendFacts } from "../backends/backend";
import { WordloomError } from "../errors";
import { countParameters } from "../models/decoder";
import type { DecoderSpec } from "../models/decoder-spec";
import type { Tokenizer } from "../tokenizer/tokenizer";
import type { SourceRequest } from "./open-request";

/** What was loaded beside the model, or would be. */
export interface DraftModelInfo extends Pick<BackendFacts, "dtype" | "kvDtype" | "contextLength" | "bytes"> {
  modelType: string;
  parameterCount: number;
}

export function draftModelInfo({ modelType, ...spec }: DecoderSpec, facts: BackendFacts): DraftModelInfo {
  const { dtype, kvDtype, contextLength, bytes } = facts;
  return { modelType, parameterCount: countParameters({ modelType, ...spec }), dtype, kvDtype, contextLength, bytes };
}

/** Of a budget the draft model may take so much; what it leaves is the model's. */
const SHARE_OF_THE_BUDGET = 1 / 4;

type Sized = SourceRequest & {
  draftModel?: SourceRequest["source"] | undefined;
  contextLength: number | undefined;
  memoryBudgetBytes: number | undefined;
};

/** The request for the draft model alone: `sha256` and, where it is not of the hub, what belongs to the hub are the model's. */
export function draftRequest<R extends Sized>(request: R, draftModel: SourceRequest["source"]): R {
  const isOfHub = typeof draftModel === "string" && draftModel.trim().startsWith("hf:");
  const { endpoint, token, memoryBudgetBytes: budget } = request;
  return {
    ...request,
    source: draftModel,
    draftModel: undefined,
    sha256: {},
    endpoint: isOfHub ? endpoint : undefined,
    token: isOfHub ? token : undefined,
    memoryBudgetBytes: budget === undefined ? undefined : Math.max(1, Math.floor(budget * SHARE_OF_THE_BUDGET)),
  };
}

/** No more positions than the model that it guesses for was asked to have, and than it was made for itself. */
export function draftContext(wanted: number | undefined, spec: DecoderSpec): number | undefined {
  return wanted === undefined ? undefined : Math.min(wanted, spec.contextLength);
}

export const bytesOf = ({ weights, kvCache, activations }: BackendFacts["bytes"]) => weights + kvCache + activations;

/** What the draft model leaves of a budget. */
export function budgetBeside(budget: number | undefined, draft: Pick<Backend["facts"], "bytes"> | undefined) {
  return budget === undefined || !draft ? budget : Math.max(1, budget - bytesOf(draft.bytes));
}

/**
 * A draft is a list of ids: each must mean the same to both.
 *
 * @throws WordloomError option-invalid with the first difference
 */
export function checkSameVocabulary(own: Tokenizer, draft: Tokenizer): void {
  const refuse = (difference: string) =>
    new WordloomError("option-invalid", `draftModel has another vocabulary than the model: ${difference}`, {
      remedy: "Choose a smaller model of the same family, whose tokenizer.json is the same.",
    });
  if (own.vocabSize !== draft.vocabSize) throw refuse(`${draft.vocabSize} tokens, the model has ${own.vocabSize}`);
  for (let id = 0; id < own.vocabSize; id++) {
    const [ours, theirs] = [own.bytesOf(id, false), draft.bytesOf(id, false)];
    const isSame = ours.length === theirs.length && ours.every((byte, at) => byte === theirs[at]);
    if (!isSame || own.isSpecial(id) !== draft.isSpecial(id)) {
      throw refuse(`token ${id} is ${inWords(theirs, draft, id)} there, and ${inWords(ours, own, id)} here`);
    }
  }
}

function inWords(bytes: Uint8Array, tokenizer: Tokenizer, id: number): string {
  if (tokenizer.isSpecial(id)) return "a special token";
  return JSON.stringify(new TextDecoder().decode(bytes));
}
