/** What the page says before anything of it is opened: header, first words, consent, numbers. */
import { msg, str } from "@lit/localize";

export const text = () => msg("Text", { id: "page-text" });
export const chat = () => msg("Chat", { id: "page-chat" });
export const modes = () => msg("What to do", { id: "page-modes" });
export const settings = () => msg("Settings", { id: "page-settings" });
export const model = () => msg("Model", { id: "page-model" });
export const texts = () => msg("Saved", { id: "page-texts" });
export const close = () => msg("Close", { id: "page-close" });
export const opening = () => msg("Opening …", { id: "page-opening" });
export const notOpened = () =>
  msg("This part of the page could not be fetched. Check the connection, then try again.", { id: "page-not-opened" });
export const notKept = (reason: string) =>
  msg(str`This text could not be kept in the browser: ${reason}.`, { id: "page-not-kept" });
export const notUnderstood = (names: string) =>
  msg(str`Not understood in this page's address: ${names}.`, { id: "page-not-understood" });

export const lead = () => msg("Type a few words, and the model writes on from them.", { id: "page-lead" });
export const orBeginWith = () => msg("Or begin with", { id: "page-or-begin-with" });
/** In the model's language, which German is not: they stay as they are. */
export const BEGINNINGS: readonly string[] = [
  "Once there was a little owl who was afraid of the dark.",
  "On the first day of snow, Mia found a tiny door behind the bookshelf.",
  "The old fisherman pulled in his net, and in it was",
];
export const thisDevice = () => msg("this device", { id: "page-this-device" });
export const thisSite = () => msg("this site", { id: "page-this-site" });
export const comesFrom = (name: string, from: string) =>
  msg(str`${name} comes from ${from} and runs on your own device. Nothing you write leaves it.`, {
    id: "page-comes-from",
  });
export const comesFromWithSize = (name: string, size: string, from: string) =>
  msg(str`${name}, ${size}, comes from ${from} and runs on your own device. Nothing you write leaves it.`, {
    id: "page-comes-from-with-size",
  });
export const cancelLoading = () => msg("Cancel loading", { id: "page-cancel-loading" });
export const goOnLoading = () => msg("Go on loading", { id: "page-go-on-loading" });
export const loadingHalted = () =>
  msg("Loading was stopped. What has come stays where this browser keeps it, and loading goes on from there.", {
    id: "page-loading-halted",
  });

export const addressAsksFor = (name: string, host: string) =>
  msg(
    str`This address asks for the model ${name}, which comes from ${host}. It is fetched only if you wish; then it stays and runs on this device.`,
    { id: "page-address-asks" },
  );
export const loadAndWrite = () => msg("Load it and write", { id: "page-load-and-write" });
export const loadIt = () => msg("Load it", { id: "page-load-it" });
export const whatWouldItTake = () => msg("What would it take?", { id: "page-what-would-it-take" });
export const readingSettings = () => msg("Reading the model's settings …", { id: "page-reading-settings" });
export const planOf = (parameters: string, download: string, dtype: string, positions: number) =>
  msg(str`${parameters} weights, ${download} to download. On this device, as ${dtype} with ${positions} positions:`, {
    id: "page-plan",
  });
export const planParts = (weights: string, kvCache: string, perToken: string, activations: string) =>
  msg(str`of which weights ${weights}, KV cache ${kvCache} (${perToken} a token), scratch paper ${activations}.`, {
    id: "page-plan-parts",
  });
export const fits = () => msg("It fits.", { id: "page-fits" });
export const doesNotFit = () => msg("It does not fit:", { id: "page-does-not-fit" });
export const fitsAs = (dtype: string) => msg(str`It fits if its weights are held as ${dtype}.`, { id: "page-fits-as" });
export const fitsShorter = (positions: number) =>
  msg(str`It fits with a context of ${positions} positions.`, { id: "page-fits-shorter" });
export const loadAs = (dtype: string, positions: number, total: string) =>
  msg(str`Load it as ${dtype} with ${positions} positions, ${total}`, { id: "page-load-as" });
export const chooseSmaller = () => msg("Choose a smaller model.", { id: "page-choose-smaller" });

export const memoryAndSpeed = () => msg("Memory and speed", { id: "page-memory-and-speed" });
export const weights = () => msg("Weights", { id: "page-weights" });
export const weightsNote = (count: string, dtype: string) =>
  msg(str`${count} as ${dtype}`, { id: "page-weights-note" });
export const kvCache = () => msg("KV cache", { id: "page-kv-cache" });
export const kvCacheNote = (perToken: string, positions: number, dtype: string) =>
  msg(str`${perToken} a token × ${positions}, as ${dtype}`, { id: "page-kv-cache-note" });
export const activations = () => msg("Activations", { id: "page-activations" });
export const activationsNote = () => msg("scratch paper of one step", { id: "page-activations-note" });
export const writing = () => msg("Writing", { id: "page-writing" });
export const tokensIn = (count: number, duration: string) =>
  msg(str`${count} tokens in ${duration}`, { id: "page-tokens-in" });
export const knownLater = () => msg("known when a text has ended", { id: "page-known-later" });
export const firstToken = () => msg("First token", { id: "page-first-token" });
export const afterWrite = () => msg("after “Write”", { id: "page-after-write" });
export const reading = () => msg("Reading", { id: "page-reading" });
export const computedBy = (what: string) => msg(str`Computed by ${what}`, { id: "page-computed-by" });
export const inWorker = () => msg("in a worker", { id: "page-in-worker" });
export const onPageThread = () => msg("on the page's thread", { id: "page-on-page-thread" });
export const modelFiles = (reason: string) => msg(str`The model's files: ${reason}.`, { id: "page-model-files" });
