// The prompts: seeded, the same for every engine, as token ids and as text. Letter-pair tokens alternate
// with single non-letter characters, a form that byte-level BPE tokenises back to exactly these ids
// (verify.mjs checks it), so engines that only accept text do the same work.
import { Rng } from "./checkpoint/rng.mjs";
import { tokenTexts } from "./checkpoint/tokenizer.mjs";

export function makePrompt(shape, length, index) {
  const texts = tokenTexts(shape.vocab),
    rng = new Rng(shape.seed, `prompt ${shape.prompts ? (shape.prompts[index] ?? 1000 + index) : index}`);
  const pairs = [],
    singles = [];
  for (let id = 0; id < shape.vocab; id++) {
    const t = texts[id];
    if (/^[a-z]{2}$/.test(t)) pairs.push(id);
    else if (/^[ -~]$/.test(t) && !/[A-Za-z']/.test(t)) singles.push(id);
  }
  const ids = [];
  for (let i = 0; i < length; i++) {
    const from = i % 2 ? singles : pairs;
    ids.push(from[rng.int(from.length)]);
  }
  return { ids, text: ids.map((id) => texts[id]).join("") };
}
