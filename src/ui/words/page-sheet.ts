/** What the side sheet says: model, settings, shortcuts. */
import { msg, str } from "@lit/localize";

// Settings
export const nextWord = () => msg("How the next word is chosen", { id: "page-next-word" });
export const asModelSuggests = () => msg("As the model suggests", { id: "page-preset-model" });
export const knownWhenLoaded = () => msg("known when the model is loaded", { id: "page-preset-model-unknown" });
export const likeliest = () => msg("Always the likeliest word", { id: "page-preset-likeliest" });
export const likeliestNote = () => msg("the same text each time", { id: "page-preset-likeliest-note" });
export const calm = () => msg("Calm", { id: "page-preset-calm" });
export const lively = () => msg("Lively", { id: "page-preset-lively" });
export const own = () => msg("Your own", { id: "page-preset-own" });
export const ownNote = () => msg("change anything below", { id: "page-preset-own-note" });
export const temperature = () => msg("Temperature", { id: "page-temperature" });
export const temperatureHelp = () =>
  msg("How adventurous: at 0 the likeliest word always wins, above 1 unlikely ones often do.", {
    id: "page-temperature-help",
  });
export const topP = () => msg("Top-p", { id: "page-top-p" });
export const topPHelp = () =>
  msg("Keeps the likeliest words that together make up this share; 1 keeps all.", { id: "page-top-p-help" });
export const topK = () => msg("Top-k", { id: "page-top-k" });
export const topKHelp = () =>
  msg("Keeps only so many of the likeliest words. Empty: no limit.", { id: "page-top-k-help" });
export const minP = () => msg("Min-p", { id: "page-min-p" });
export const minPHelp = () =>
  msg("Drops words less likely than this share of the likeliest one; 0 drops none.", { id: "page-min-p-help" });
export const repetitionPenalty = () => msg("Repetition penalty", { id: "page-repetition-penalty" });
export const repetitionPenaltyHelp = () =>
  msg("Makes words that have occurred less likely; 1 leaves them alone.", { id: "page-repetition-penalty-help" });
export const moreWays = () => msg("More ways to choose", { id: "page-more-ways" });
export const typicalP = () => msg("Typical-p", { id: "page-typical-p" });
export const typicalPHelp = () =>
  msg("Keeps the words that surprise about as much as is usual here, up to this share; 1 keeps all.", {
    id: "page-typical-p-help",
  });
export const frequencyPenalty = () => msg("Frequency penalty", { id: "page-frequency-penalty" });
export const frequencyPenaltyHelp = () =>
  msg("Makes a word of the answer less likely each time it occurs; 0 does nothing.", {
    id: "page-frequency-penalty-help",
  });
export const presencePenalty = () => msg("Presence penalty", { id: "page-presence-penalty" });
export const presencePenaltyHelp = () =>
  msg("Makes each word that the answer has less likely, however often it occurs; 0 does nothing.", {
    id: "page-presence-penalty-help",
  });
export const dry = () => msg("DRY (against repeated passages)", { id: "page-dry" });
export const dryHelp = () =>
  msg("Makes it ever harder to go on with a passage that was there already; 0 does nothing, 0.8 is usual.", {
    id: "page-dry-help",
  });
export const coldNote = () =>
  msg("At temperature 0 the cut-offs change nothing: the likeliest word is always kept.", { id: "page-cold-note" });
export const coldTypical = () =>
  msg("Typical-p needs a temperature above 0: it may drop the very word that temperature 0 takes.", {
    id: "page-cold-typical",
  });
export const lengthAndChance = () => msg("Length and chance", { id: "page-length-and-chance" });
export const tokensToWrite = () => msg("Tokens to write", { id: "page-tokens-to-write" });
export const tokensToWriteHelp = () =>
  msg("Writing stops after so many tokens, or earlier where the text ends. Empty: 256.", {
    id: "page-tokens-to-write-help",
  });
export const seed = () => msg("Seed", { id: "page-seed" });
export const seedHelp = () =>
  msg("The same seed and settings give the same text on this device. Empty: a new one each time.", {
    id: "page-seed-help",
  });
export const stopBefore = () => msg("Stop before", { id: "page-stop-before" });
export const stopBeforeHelp = () =>
  msg("Writing ends where one of these would appear; one a line.", { id: "page-stop-before-help" });
export const forChat = () => msg("For the chat", { id: "page-for-chat" });
export const system = () => msg("Instructions", { id: "page-system" });
export const systemHelp = () =>
  msg("What the model is told before the first message (the system prompt): who it is, how it should answer.", {
    id: "page-system-help",
  });
export const reset = () => msg("Back to the first settings", { id: "page-reset" });
export const shortcutsButton = () => msg("Keyboard shortcuts", { id: "page-shortcuts" });
export const shortcutStop = () => msg("Stop writing; else close what is open", { id: "page-shortcut-stop" });
export const shortcutEnter = () => msg("Write from the beginning, or send the message", { id: "page-shortcut-enter" });
export const shortcutLine = () => msg("A new line", { id: "page-shortcut-line" });
export const shortcutOn = () => msg("Write on", { id: "page-shortcut-on" });
export const shortcutAnew = () => msg("Write anew", { id: "page-shortcut-anew" });
export const shortcutVersions = () => msg("Earlier or later version of the text", { id: "page-shortcut-versions" });
export const shortcutHelp = () => msg("This list", { id: "page-shortcut-help" });

// Model
export const loadedNow = () => msg("Now", { id: "page-model-now" });
export const notLoaded = () => msg("not loaded yet", { id: "page-model-not-loaded" });
export const loadedAs = (dtype: string, total: string, positions: number) =>
  msg(str`as ${dtype}, ${total} of memory, ${positions} positions`, { id: "page-model-loaded-as" });
export const another = () => msg("Another model", { id: "page-model-another" });
export const whereItIs = () => msg("Where the model is", { id: "page-model-where" });
export const whereItIsHelp = () =>
  msg(
    "A name on the Hugging Face hub, org/name; or the address of a folder with config.json, tokenizer.json and safetensors, or of a .gguf file.",
    { id: "page-model-where-help" },
  );
export const comesFrom = (host: string) =>
  msg(str`It comes from ${host}, which is asked for it when you press a button, and not before.`, {
    id: "page-model-host",
  });
export const fromThisSite = () => msg("It comes from this site.", { id: "page-model-this-site" });
export const check = () => msg("What would it take?", { id: "page-model-check" });
export const load = () => msg("Load it", { id: "page-model-load" });
export const chooseFile = () => msg("Choose a file …", { id: "page-model-file" });
export const chooseFolder = () => msg("Choose a folder …", { id: "page-model-folder" });
export const filesHelp = () =>
  msg("From this device: a .gguf file, or a model's folder. You can also drop either on this page.", {
    id: "page-model-files-help",
  });
export const chosenFiles = (name: string) => msg(str`${name}, from this device`, { id: "page-model-chosen-files" });
export const howHeld = () => msg("How it is held", { id: "page-model-how" });
export const dtype = () => msg("Weights held as", { id: "page-dtype" });
export const dtypeHelp = () =>
  msg("Smaller ones need less memory and blur the numbers a little.", { id: "page-dtype-help" });
export const chooseForMe = () => msg("Choose for me", { id: "page-choose-for-me" });
export const dtypeOption = (name: string, bytes: string) =>
  msg(str`${name} (${bytes} a weight)`, { id: "page-dtype-option" });
export const bytesEach = (count: string) => msg(str`${count} bytes`, { id: "page-bytes-each" });
export const dtypeWithMemory = (name: string, bytes: string) =>
  msg(str`${name} (about ${bytes} of weights)`, { id: "page-dtype-memory" });
export const contextLength = () => msg("Context length", { id: "page-context-length" });
export const contextLengthHelp = () =>
  msg(
    "How many tokens the model can see at once; memory is set aside for all of them. Empty: as many as the model was made for, if they fit.",
    { id: "page-context-length-help" },
  );
export const backend = () => msg("Computed by", { id: "page-backend" });
export const backendHelp = () =>
  msg("The graphics card, where the browser lets pages use it.", { id: "page-backend-help" });
export const onGpu = () => msg("The graphics card (WebGPU)", { id: "page-backend-gpu" });
export const onCpu = () => msg("The processor (slow)", { id: "page-backend-cpu" });
export const allowReference = () => msg("Write slowly without the GPU", { id: "page-allow-reference" });
export const allowReferenceNote = () =>
  msg("if the browser has no WebGPU; for small models only", { id: "page-allow-reference-note" });
export const loadWithSettings = () => msg("Load the model with these settings", { id: "page-load-with-settings" });
export const usedBefore = () => msg("Used before", { id: "page-used-before" });
export const bundled = () => msg("comes with this page; writes little stories in English", { id: "page-bundled" });
export const use = () => msg("Use", { id: "page-use" });
export const useNamed = (name: string) => msg(str`Use ${name}`, { id: "page-use-named" });
export const forget = () => msg("Forget", { id: "page-forget" });
export const forgetNamed = (name: string) => msg(str`Forget that ${name} was used`, { id: "page-forget-named" });
export const lastUsed = (from: string, day: string) => msg(str`from ${from}, ${day}`, { id: "page-last-used" });

// Stored models
export const keptHere = () => msg("Kept on this device", { id: "page-kept-models" });
export const noModels = () =>
  msg("No models. Those from other servers stay once they are loaded.", { id: "page-no-models" });
export const deleteIt = () => msg("Delete", { id: "page-delete" });
export const deleteNow = () => msg("Delete it?", { id: "page-delete-now" });
export const deleteNamed = (name: string) => msg(str`Delete ${name}`, { id: "page-delete-named" });
export const deleteNamedNow = (name: string, size: string) =>
  msg(str`Delete ${name}, ${size}? Press again to delete it`, { id: "page-delete-named-now" });
export const isDeleted = (name: string, size: string) =>
  msg(str`${name} is deleted; ${size} are free again.`, { id: "page-is-deleted" });
export const isStillHere = (name: string, message: string, remedy: string) =>
  msg(str`${name} is still here: ${message}. ${remedy}`, { id: "page-is-still-here" });
export const sizeFrom = (size: string, from: string) => msg(str`${size} from ${from}`, { id: "page-size-from" });
export const unknownPlace = () => msg("an unknown place", { id: "page-unknown-place" });
export const loaded = () => msg("Loaded now.", { id: "page-loaded-now" });
export const goesOnWriting = () => msg("It goes on writing until this page is left.", { id: "page-goes-on-writing" });
export const notComplete = () =>
  msg("Not complete: the rest is fetched when it is loaded.", { id: "page-not-complete" });
export const lastLoaded = (day: string) => msg(str`Last loaded ${day}.`, { id: "page-last-loaded" });
export const siteUses = (used: string, quota: string) =>
  msg(str`This site uses ${used} of ${quota} that the browser allows.`, { id: "page-site-uses" });
export const browserKeeps = () => msg("The browser keeps them.", { id: "page-browser-keeps" });
export const browserMayDelete = () =>
  msg("The browser may delete them when it needs room.", { id: "page-browser-may-delete" });
