/** What the element says, but for failures: those are in element-failures.ts. */
import { msg, str } from "@lit/localize";

// The prompt and the buttons
export const promptLabel = () => msg("Beginning of the text", { id: "element-prompt" });
export const promptPlaceholder = () => msg("Begin a text …", { id: "element-placeholder" });
export const write = () => msg("Write", { id: "element-write" });
export const writeAt = (host: string) => msg(str`Write on ${host}`, { id: "element-write-at" });
export const writeOn = () => msg("Write on", { id: "element-write-on" });
export const writeAnew = () => msg("Write anew", { id: "element-write-anew" });
export const stop = () => msg("Stop", { id: "element-stop" });
export const clear = () => msg("Clear", { id: "element-clear" });

// Read out by a screen reader
export const textEnded = () => msg("End of the text.", { id: "element-said-end" });
export const textFull = () => msg("Stopped at the length limit.", { id: "element-said-limit" });
export const textStopped = () => msg("Stopped.", { id: "element-said-stopped" });
export const textFailed = () => msg("Writing failed.", { id: "element-said-failed" });

// While it waits for other elements
export const waitsForOne = () =>
  msg("Waits for its turn: another text on this page is being written.", { id: "element-waits-one" });
export const waitsFor = (count: number) =>
  msg(str`Waits for its turn: ${count} other texts on this page come first.`, { id: "element-waits" });

// In a form
export const textMissing = () => msg("Let a text be written here first.", { id: "element-form-missing" });
export const textUnfinished = () => msg("The text is still being written.", { id: "element-form-unfinished" });

// Loading
export const readsSettings = () => msg("Reading the model's settings", { id: "element-loads-config" });
export const makesRoom = () => msg("Making room for the model", { id: "element-loads-device" });
export const readsVocabulary = () => msg("Reading the model's vocabulary", { id: "element-loads-tokenizer" });
export const loadsWeights = () => msg("Loading the model's weights", { id: "element-loads-weights" });
export const getsReady = () => msg("Getting ready to write", { id: "element-loads-warmup" });
export const opens = (model: string) => msg(str`Opening ${model}`, { id: "element-opens" });
export const loading = (model: string) => msg(str`Loading ${model}`, { id: "element-loading" });
export const timeLeft = (time: string) => msg(str`about ${time} left`, { id: "element-time-left" });
export const bytesOf = (loaded: string, total: string) => msg(str`${loaded} of ${total}`, { id: "element-bytes-of" });

// The line of numbers, and what each of them means
export const positionsUsed = (used: number, total: number) =>
  msg(str`${used} of ${total} positions`, { id: "element-positions" });
export const tokensWritten = (count: number) => msg(str`${count} tokens written`, { id: "element-tokens-written" });
export const tokensPerSecond = (count: string) => msg(str`${count}\u00a0tokens/s`, { id: "element-rate" });
export const aboutModel = (count: string, layers: number, dtype: string, computedBy: string) =>
  msg(str`The model that writes: ${count} weights in ${layers} layers, held as ${dtype}, computed by ${computedBy}.`, {
    id: "element-about-model",
  });
export const byReference = () => msg("the processor, slowly, without WebGPU", { id: "element-by-reference" });
export const bySoftware = () =>
  msg("the processor, through the browser's software driver", { id: "element-by-software" });
export const byGraphicsCard = () => msg("the graphics card", { id: "element-by-gpu" });
export const aboutContext = (length: number) =>
  msg(str`The model sees ${length} tokens at once, your words and its own together. When they are used up it stops.`, {
    id: "element-about-context",
  });
export const aboutMemory = (bytes: { weights: string; kvCache: string; perToken: string; activations: string }) =>
  msg(
    str`Memory in use: weights ${bytes.weights}, KV cache ${bytes.kvCache} (what the model keeps of each token it has read: ${bytes.perToken} a token), activations ${bytes.activations} (its scratch paper).`,
    { id: "element-about-memory" },
  );
export const aboutSpeedNow = () =>
  msg("A token is a word or a piece of one. Measured over the last three seconds.", { id: "element-about-speed-now" });
export const aboutSpeed = (first: string, prefill: string) =>
  msg(str`A token is a word or a piece of one. The first came after ${first}; the beginning was read in ${prefill}.`, {
    id: "element-about-speed",
  });
export const aboutSpeedThere = (first: string) =>
  msg(
    str`A token is a word or a piece of one. The first came after ${first}, the way to the server and back included.`,
    { id: "element-about-speed-there" },
  );
export const thousands = (count: string) => msg(str`${count}\u00a0k`, { id: "element-thousands" });
export const millions = (count: string) => msg(str`${count}\u00a0M`, { id: "element-millions" });
export const billions = (count: string) => msg(str`${count}\u00a0B`, { id: "element-billions" });
export const noFiles = () => msg("no files", { id: "element-no-files" });
export const fileCount = (count: number) => msg(str`${count} files`, { id: "element-files" });

// A server
export const writtenAt = (host: string) => msg(str`Written on ${host}`, { id: "element-written-at" });
export const aboutServer = (host: string, reason: string) =>
  msg(
    str`What you write is sent to ${host}, where the model runs, and what it writes comes back from there; nothing is computed on this device: ${reason}.`,
    { id: "element-about-server" },
  );
export const takenOver = (host: string) =>
  msg(
    str`This device cannot run the model, but ${host} can: what you write is then sent there, and the text comes from there.`,
    { id: "element-taken-over" },
  );
