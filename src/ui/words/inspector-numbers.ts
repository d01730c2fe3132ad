/** What the inspector says about times, memory and the KV cache. */
import { msg, str } from "@lit/localize";

export const tableLabel = () => msg("As a table", { id: "inspector-table" });
export const tableEvery = (rows: number, count: number) =>
  msg(str`${rows} of ${count} rows, evenly spread`, { id: "inspector-table-every" });
export const tokenNumber = () => msg("Token", { id: "inspector-token-number" });
export const tokenText = () => msg("Text", { id: "inspector-token-text" });

export const numbers = () => msg("Token by token", { id: "inspector-numbers" });
export const surprise = () => msg("Surprise", { id: "inspector-surprise" });
export const surpriseChart = () => msg("Surprise and entropy, in nats", { id: "inspector-surprise-chart" });
export const surpriseHelp = () =>
  msg(
    "Surprise is −ln p of the token that came; entropy is the surprise the model expected. Where the two part, the draw took something unlikely.",
    { id: "inspector-surprise-help" },
  );
export const entropyLine = () => msg("Entropy", { id: "inspector-entropy-line" });
export const perplexity = () => msg("Perplexity", { id: "inspector-perplexity" });
export const perplexityChart = () => msg("Perplexity so far", { id: "inspector-perplexity-chart" });
export const perplexityNow = (perplexity: string, logprob: string, count: number) =>
  msg(
    str`After ${count} tokens: perplexity ${perplexity}, log-probability ${logprob}. On average the model was as undecided as among ${perplexity} equally likely tokens.`,
    { id: "inspector-perplexity-now" },
  );
export const logprobSum = () => msg("Log-probability so far", { id: "inspector-logprob-sum" });
export const timeChart = () => msg("Time for each token, in ms", { id: "inspector-time-chart" });
export const time = () => msg("Time", { id: "inspector-time" });
export const timeSmooth = () => msg("Mean of nine", { id: "inspector-time-smooth" });
export const timeNow = (median: string, first: string) =>
  msg(str`Half of the tokens came within ${median} of the one before; the first took ${first}, the prompt included.`, {
    id: "inspector-time-now",
  });
export const timeHelp = () =>
  msg(
    "Measured where a token arrives in the page. The next steps are already under way while one is read back, and tokens that arrive together share one time, so what of it the GPU, the host and the way back took is not known.",
    { id: "inspector-time-help" },
  );

export const cache = () => msg("The KV cache", { id: "inspector-cache" });
export const cacheHelp = () =>
  msg(
    "Of each token it has read, the model keeps a key and a value in every layer, so that later tokens can look back at it without reading the text again.",
    { id: "inspector-cache-help" },
  );
export const cacheLayers = (layers: number, heads: number, headSize: number, bytes: number) =>
  msg(str`${layers} layers × ${heads} key/value heads × ${headSize} numbers × 2 (key and value) × ${bytes} bytes`, {
    id: "inspector-cache-layers",
  });
export const cachePerToken = (size: string) => msg(str`= ${size} a token`, { id: "inspector-cache-per-token" });
export const cacheHeld = (positions: number, size: string) =>
  msg(str`× ${positions} positions = ${size}, set aside when the model is loaded`, { id: "inspector-cache-held" });
export const cacheMore = (size: string) =>
  msg(str`Held on this device: ${size}, with what else layers keep and room for alignment.`, {
    id: "inspector-cache-more",
  });
export const cacheFilled = (used: number, of: number, size: string) =>
  msg(str`${used} of ${of} positions filled: ${size}`, { id: "inspector-cache-filled" });
export const cachePrompt = (count: number) => msg(str`${count} of the prompt`, { id: "inspector-cache-prompt" });
export const cacheAnswer = (count: number) => msg(str`${count} written`, { id: "inspector-cache-answer" });
export const cacheLonger = () => msg("What a longer context would take", { id: "inspector-cache-longer" });
export const positions = () => msg("Positions", { id: "inspector-positions" });
export const memory = () => msg("Memory", { id: "inspector-memory" });
export const thisModel = () => msg("as loaded", { id: "inspector-this-model" });
export const cacheElsewhere = () =>
  msg("The model is on a server, and so is its cache.", { id: "inspector-cache-elsewhere" });
export const cacheNoModel = () => msg("Known when a model is loaded.", { id: "inspector-cache-no-model" });

export const speeds = () => msg("Reading and writing", { id: "inspector-speeds" });
export const speedsNow = (read: string, written: string) =>
  msg(str`The prompt was read at ${read}, the answer written at ${written}.`, { id: "inspector-speeds-now" });
export const speedsFew = (read: number) =>
  msg(
    str`Of the prompt only ${read} tokens had to be read, the rest was in the cache: too few to tell how fast reading is.`,
    { id: "inspector-speeds-few" },
  );
export const speedsLater = () => msg("Known when a text has ended.", { id: "inspector-speeds-later" });
export const speedsFirst = () =>
  msg(
    "The first text also prepares the GPU's programs, which counts as reading here. Measure below to see both alone.",
    {
      id: "inspector-speeds-first",
    },
  );
export const speedsHelp = () =>
  msg(
    "All of the prompt's tokens are known, so they go through the model together, and each weight that is fetched from memory serves many of them. A written token must be known before the next one can begin, so all weights are fetched again for each.",
    { id: "inspector-speeds-help" },
  );

export const compare = () => msg("With and without the cache", { id: "inspector-compare" });
export const compareHelp = () =>
  msg(
    "Writes the same tokens twice on this device, in turn: once reading the whole text again for each token, once with the cache. Your text stays as it is.",
    { id: "inspector-compare-help" },
  );
export const compareCount = () => msg("Tokens", { id: "inspector-compare-count" });
export const compareStart = () => msg("Measure", { id: "inspector-compare-start" });
export const compareStop = () => msg("Stop", { id: "inspector-compare-stop" });
export const compareNeeds = () =>
  msg("This needs a loaded model on this device, a prompt, and no text being written.", {
    id: "inspector-compare-needs",
  });
export const compareNoRoom = (prompt: number, of: number) =>
  msg(str`The prompt has ${prompt} tokens and the context ${of}: there is no room to write.`, {
    id: "inspector-compare-no-room",
  });
export const compareProgress = (done: number, of: number) =>
  msg(str`Token ${done} of ${of}`, { id: "inspector-compare-progress" });
export const compareFailed = (message: string) =>
  msg(str`Measuring failed: ${message}`, { id: "inspector-compare-failed" });
export const compareDiffering = () =>
  msg("The two ways chose different tokens, because of rounding, so measuring ended there.", {
    id: "inspector-compare-differing",
  });
export const compareStopped = () => msg("Stopped before the end.", { id: "inspector-compare-stopped" });
export const chartEach = () => msg("Time for each token, in ms", { id: "inspector-chart-each" });
export const chartTotal = () => msg("Time for all so far, in s", { id: "inspector-chart-total" });
export const without = () => msg("without the cache", { id: "inspector-without" });
export const withCache = () => msg("with the cache", { id: "inspector-with" });
export const before = () => msg("Tokens before", { id: "inspector-before" });
export const compareResult = (count: number, without: string, withCache: string, factor: string) =>
  msg(str`${count} tokens took ${without} without the cache and ${withCache} with it: ${factor} times as long.`, {
    id: "inspector-compare-result",
  });
export const compareRates = (read: string, written: string) =>
  msg(
    str`Reading many tokens together ran at ${read}, writing them one by one at ${written}: that is why a prompt is read faster than the answer is written.`,
    { id: "inspector-compare-rates" },
  );
export const compareGrowth = (without: string, withCache: string) =>
  msg(
    str`Each token more in the text made the next one slower by ${without} without the cache, by ${withCache} with it. A straight line for each token adds up to a curve for the whole text: twice the length, four times the time.`,
    { id: "inspector-compare-growth" },
  );
export const compareHow = () => msg("How this was measured", { id: "inspector-compare-how" });
export const compareHowText = () =>
  msg(
    "Each token is one call of generate with maxNewTokens: 1 at temperature 0, with reusePrefix: false and with reusePrefix: true, after one call that is not counted. Times are the engine's own, from a call's turn until its token. Writing in one go is faster than the lower line, because the next steps are under way while a token is read back; and a GPU reads short texts in about the same time, so the upper line rises by steps.",
    { id: "inspector-compare-how-text" },
  );
