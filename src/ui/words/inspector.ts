/** What the inspector says about tokens and their alternatives. What it says of times and memory: inspector-numbers.ts. */
import { msg, str } from "@lit/localize";

export const title = () => msg("Look inside", { id: "inspector-title" });
export const lead = () =>
  msg(
    "The model writes one token at a time: a word, a piece of one, or a sign. The stronger the shade, the less the model expected the token that came.",
    { id: "inspector-lead" },
  );
export const howToLook = () =>
  msg("Point at a token of the text, or tap it, to see what else could have stood there.", { id: "inspector-how" });
export const nothingYet = () =>
  msg("There is nothing to look into yet. Write a text, and its tokens appear here.", { id: "inspector-empty" });
export const notAsked = () =>
  msg("This text was written before you looked inside, so the alternatives of its tokens are not known.", {
    id: "inspector-not-asked",
  });
export const legendLabel = () => msg("Probability of each token", { id: "inspector-legend" });
export const legendSure = () => msg("expected", { id: "inspector-legend-sure" });
export const legendUnsure = () => msg("surprising", { id: "inspector-legend-unsure" });
export const walk = () => msg("Go through the tokens", { id: "inspector-walk" });
export const close = () => msg("Close", { id: "inspector-close" });
export const stripLabel = () => msg("Tokens of the text", { id: "inspector-strip" });
export const stripHelp = () =>
  msg("Arrow keys move, Enter goes to the alternatives, Escape closes.", { id: "inspector-strip-help" });
export const cardLabel = () => msg("Token of the text", { id: "inspector-card" });
export const tokenOf = (number: number, count: number) =>
  msg(str`Token ${number} of ${count}`, { id: "inspector-token-of" });
export const optionLabel = (token: string, probability: string) =>
  msg(str`${token}, ${probability}`, { id: "inspector-option" });

export const probability = () => msg("Probability", { id: "inspector-probability" });
export const probabilityHelp = () =>
  msg("How likely the model found this token after everything before it.", { id: "inspector-probability-help" });
export const logProbability = () => msg("Log-probability", { id: "inspector-logprob" });
export const logProbabilityHelp = () =>
  msg("The natural logarithm of the probability; those of a whole text simply add up.", {
    id: "inspector-logprob-help",
  });
export const rank = () => msg("Rank", { id: "inspector-rank" });
export const rankHelp = () =>
  msg("Its place among all tokens the model knows, the likeliest first.", { id: "inspector-rank-help" });
export const rankOf = (place: number, count: number) => msg(str`${place} of ${count}`, { id: "inspector-rank-of" });
export const entropy = () => msg("Entropy", { id: "inspector-entropy" });
export const entropyHelp = () =>
  msg("How undecided the model was: 0 where only one token was possible, more where many were.", {
    id: "inspector-entropy-help",
  });
export const nats = (value: string) => msg(str`${value} nats`, { id: "inspector-nats" });
export const tokenId = () => msg("Token id", { id: "inspector-id" });
export const tokenIdHelp = () => msg("Its number in the model's vocabulary.", { id: "inspector-id-help" });
export const unknown = () => msg("not known", { id: "inspector-unknown" });

export const alternatives = () => msg("What could have stood here", { id: "inspector-alternatives" });
export const alternativesHelp = () =>
  msg("Choose another one, and the text goes on from there.", { id: "inspector-alternatives-help" });
export const branchWith = (token: string, base: string) =>
  msg(str`Write on with ${token}, ${base}`, { id: "inspector-branch-with" });
export const written = () => msg("written", { id: "inspector-written" });
export const writtenToken = (token: string, base: string) =>
  msg(str`${token}, ${base}, stands in the text`, { id: "inspector-written-token" });
export const baseColumn = () => msg("by the model", { id: "inspector-base" });
export const finalColumn = () => msg("after the cut", { id: "inspector-final" });
export const maybe = (value: string) => msg(str`0 or ${value}`, { id: "inspector-maybe" });
export const rest = (count: number) => msg(str`all ${count} others`, { id: "inspector-rest" });

export const cutByTemperature = () => msg("temperature 0 takes the likeliest", { id: "inspector-cut-temperature" });
export const cutByTopK = (value: string) => msg(str`top-k ${value} cuts here`, { id: "inspector-cut-topk" });
export const cutByTypicalP = (value: string) =>
  msg(str`typical-p ${value} cuts these`, { id: "inspector-cut-typicalp" });
export const cutByTopP = (value: string) => msg(str`top-p ${value} cuts here`, { id: "inspector-cut-topp" });
export const cutByMinP = (value: string) => msg(str`min-p ${value} cuts here`, { id: "inspector-cut-minp" });
export const cutAway = (reason: string) => msg(str`cut off: ${reason}`, { id: "inspector-cut-away" });

export const drawnAt = (temperature: string) =>
  msg(
    str`Outline: by the model. Filled: after temperature ${temperature} and the cuts, from which the token was drawn.`,
    {
      id: "inspector-drawn",
    },
  );
export const greedyHere = () =>
  msg("At temperature 0 nothing is drawn: the likeliest token is always taken.", { id: "inspector-greedy" });
export const modelAlone = () =>
  msg("Bars: by the model. What the settings made of it is not known for this token.", { id: "inspector-model-alone" });
export const onlyTop = (count: number) =>
  msg(str`Only the ${count} likeliest tokens are known here; where the rest matters, a range is given.`, {
    id: "inspector-only-top",
  });
export const untoldPenalties = () =>
  msg("Penalties change scores before this; what they changed is not known here, so the filled bars are left out.", {
    id: "inspector-untold-penalties",
  });
export const untoldSigma = () =>
  msg("Top-n-sigma depends on all scores, so the filled bars are left out.", { id: "inspector-untold-sigma" });
export const untoldTypical = () =>
  msg("What typical-p took out depends on tokens that are not known here.", { id: "inspector-untold-typical" });
export const untoldXtc = () =>
  msg("XTC sometimes takes out the likeliest tokens, by chance, so the filled bars are left out.", {
    id: "inspector-untold-xtc",
  });

export const branches = () => msg("Branches", { id: "inspector-branches" });
export const firstText = () => msg("The text as it was first written", { id: "inspector-first-text" });
export const branchAt = (number: number, token: string, before: string) =>
  msg(str`At token ${number}: ${token} in place of ${before}`, { id: "inspector-branch-at" });
export const backTo = (name: string) => msg(str`Back to: ${name}`, { id: "inspector-back-to" });
export const shownNow = () => msg("shown now", { id: "inspector-shown-now" });
export const reused = (cached: number, prompt: number) =>
  msg(str`Of the ${prompt} tokens before the branch, ${cached} came from the cache and were not read again.`, {
    id: "inspector-reused",
  });
