// A model used from code: each token as it comes, with how likely the model found it and what else it considered.
/* global document, AbortController -- this runs in a page */
import { TextGenerator, WordloomError } from "../../dist-lib/index.js";

const status = document.querySelector("#status");
const text = document.querySelector("#text");
const rows = document.querySelector("#tokens");
const { prompt, write, stop } = document.querySelector("form").elements;

/** A failure in words, with what can be done about it. */
const explain = (error) =>
  error instanceof WordloomError ? `${error.message} (${error.code}). ${error.remedy}` : String(error);

const percent = (logprob) => `${(100 * Math.exp(logprob)).toFixed(1).padStart(5)} %`;

function addRow({ text, logprob, top }) {
  const others = top.map((other) => `${JSON.stringify(other.text)} ${percent(other.logprob)}`).join("  ");
  const row = rows.insertRow();
  for (const content of [JSON.stringify(text), percent(logprob), others]) row.insertCell().textContent = content;
}

async function writeText(generator) {
  text.textContent = prompt.value;
  rows.replaceChildren();
  const abort = new AbortController();
  stop.onclick = () => abort.abort();
  write.disabled = true;
  stop.disabled = false;

  const { signal } = abort;
  const run = generator.generate(prompt.value, {
    temperature: 0.8,
    topP: 0.95,
    maxNewTokens: 60,
    topLogprobs: 3,
    signal,
  });
  try {
    for await (const chunk of run) {
      text.append(chunk.text); // whole characters only
      for (const token of chunk.tokens) addRow(token);
    }
  } catch (error) {
    if (!signal.aborted) throw error; // stopped by the button: `end` says so below
  } finally {
    write.disabled = false;
    stop.disabled = true;
  }
  const { finishReason, usage, timings, seed } = await run.end;
  const speed = `${timings.decodeTokensPerSecond.toFixed(1)} tokens/s`;
  status.textContent = `${finishReason} after ${usage.completionTokens} tokens, ${speed}, seed ${seed}`;
}

try {
  const generator = await TextGenerator.load("../../public/models/wordloom-stories", {
    onProgress: ({ phase, loadedBytes, totalBytes }) => {
      status.textContent = `${phase} ${totalBytes ? `${Math.round((100 * loadedBytes) / totalBytes)} %` : "…"}`;
    },
  });
  const { modelType, dtype, backend, adapter } = generator.info;
  status.textContent = `${modelType} as ${dtype}, on ${backend} ${adapter}`;
  document.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    writeText(generator).catch((error) => (status.textContent = explain(error)));
  };
} catch (error) {
  status.textContent = explain(error);
}
