/** The values that stand for calls of tools and their results in messages. */

export class LanguageModelToolCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: Record<string, unknown>;

  constructor({
    callId,
    name,
    arguments: given,
  }: {
    callId: string;
    name: string;
    arguments?: Record<string, unknown>;
  }) {
    this.callId = String(callId);
    this.name = String(name);
    this.arguments = given ?? {};
  }
}

export interface LanguageModelToolResultContent {
  type: "text" | "object" | "image" | "audio";
  value: unknown;
}

export class LanguageModelToolSuccess {
  readonly callId: string;
  readonly name: string;
  readonly result: readonly LanguageModelToolResultContent[];

  constructor(init: { callId: string; name: string; result: readonly LanguageModelToolResultContent[] }) {
    this.callId = String(init.callId);
    this.name = String(init.name);
    this.result = [...init.result];
  }
}

export class LanguageModelToolError {
  readonly callId: string;
  readonly name: string;
  readonly errorMessage: string;

  constructor({ callId, name, errorMessage }: { callId: string; name: string; errorMessage: string }) {
    this.callId = String(callId);
    this.name = String(name);
    this.errorMessage = String(errorMessage);
  }
}
