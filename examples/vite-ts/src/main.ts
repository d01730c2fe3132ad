import "wordloom/element"; // registers <word-loom>

const loom = document.querySelector("word-loom"); // a WordLoom: its properties and events have types
const sureness = document.querySelector("#sureness");
if (!loom || !sureness) throw new Error("this script belongs to index.html");

let logprobs: number[] = [];

loom.addEventListener("generated-token", ({ detail: { tokens } }) => {
  for (const { logprob } of tokens) if (logprob !== undefined) logprobs.push(logprob);
});

loom.addEventListener("generation-end", ({ detail: { finishReason, usage } }) => {
  const mean = logprobs.reduce((sum, logprob) => sum + logprob, 0) / logprobs.length;
  const percent = (100 * Math.exp(mean)).toFixed(0);
  sureness.textContent = `${usage.completionTokens} tokens (${finishReason}), each likely by ${percent} % on the average`;
  logprobs = [];
});

loom.addEventListener("generation-error", ({ detail: { code, remedy } }) => {
  sureness.textContent = `${code}: ${remedy}`;
});
