/** Pieces of the calls that a model makes → whole calls, as those of a model on this device. */
import { newCallId, type AnswerPart } from "../chat/answer-parts";
import type { CallPiece } from "./answer-events";
import { isRecord } from "./json-values";

interface Collected {
  index: number;
  id: string | undefined;
  name: string;
  arguments: string;
}

export class CallCollector {
  #current: Collected | undefined;

  /** @returns calls that are whole, since another one has begun */
  push(pieces: readonly CallPiece[]): AnswerPart[] {
    const parts: AnswerPart[] = [];
    for (const { index, id, name, arguments: text } of pieces) {
      if (this.#current?.index !== index) parts.push(...this.end());
      const current = (this.#current ??= { index, id, name: "", arguments: "" });
      current.id = id ?? current.id;
      current.name += name ?? "";
      current.arguments += text;
    }
    return parts;
  }

  /** The last call: the answer is over. */
  end(): AnswerPart[] {
    const call = this.#current;
    this.#current = undefined;
    if (!call) return [];
    const text = call.arguments.trim() === "" ? "{}" : call.arguments;
    const malformed = (reason: string): AnswerPart[] => [
      { type: "text", text: `${call.name}(${call.arguments})`, malformedCall: reason },
    ];
    let given: unknown;
    try {
      given = JSON.parse(text);
    } catch (error) {
      return malformed(`its arguments are no JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (!isRecord(given)) return malformed("its arguments are no object");
    return [{ type: "tool-call", id: call.id ?? newCallId(), name: call.name, arguments: given }];
  }
}
