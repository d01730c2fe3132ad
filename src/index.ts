/** The public names of Wordloom, and nothing else. */
export { modelStorage } from "./api/model-storage";
export type { StorageRoom, StoredModel } from "./api/model-storage";
export { TextGenerator } from "./api/text-generator";
export type { GenerationRun } from "./api/generation-run";
export type { LoadOptions, PlanOptions } from "./api/options";
export type { AnswerToken, Chunk } from "./engine/answer-stream";
export type { EngineInfo, GenerationEnd, Score, ScoredToken } from "./engine/engine";
export type { ModelPlan } from "./engine/plan-model";
export type { LoadPhase, LoadProgress, ModelSource } from "./engine/load-model";
export type { ModelInput } from "./api/model-input";
export type { GenerateOptions } from "./api/generate-options";
export type { LogitsContext, LogitsProcessor } from "./api/logits-processor";
export type { FinishReason } from "./engine/stopping";
export { WordloomError } from "./errors";
export type { WordloomErrorCode } from "./errors";
export type { ChatMessage } from "./tokenizer/tokenizer";
