/**
 * Twenty turns with published vocabularies and their own templates, where the model spells its answers in other tokens
 * than the tokenizer would: still only what is new is run.
 */
import { expect, test } from "vitest";
import { fakeConversations } from "../testing/fake-conversations";
import { seededRandom } from "../testing/random";
import { readPublished, type Published } from "../testing/tokenizer-golden/published";
import { createTokenizer } from "../tokenizer/load-tokenizer";
import type { Tokenizer } from "../tokenizer/tokenizer";

const TIMEOUT_MS = 300_000; // reading a vocabulary takes a second or two; a busy machine takes ten times as long
const TURNS = 20;

/** What stands between two answers, and after the first of them. */
const TEMPLATES: readonly { name: Published; end: string; between: (question: string) => string }[] = [
  {
    name: "qwen3",
    end: "<|im_end|>",
    between: (question) => `<|im_end|>\n<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`,
  },
  {
    name: "llama3",
    end: "<|eot_id|>",
    between: (question) =>
      `<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n${question}<|eot_id|>` +
      "<|start_header_id|>assistant<|end_header_id|>\n\n",
  },
];

/** A text as tokens of at most three characters each, mostly not those of the tokenizer. */
function cutAnywhere(text: string, tokenizer: Tokenizer, random: () => number): number[] {
  const characters = [...text];
  const ids: number[] = [];
  for (let at = 0; at < characters.length;) {
    const end = at + 1 + Math.floor(random() * 3);
    ids.push(...tokenizer.encode(characters.slice(at, end).join(""), { addSpecialTokens: false }));
    at = end;
  }
  return ids;
}

test.each(TEMPLATES)(
  "$name: each of 20 turns runs its own new tokens and no others",
  { timeout: TIMEOUT_MS },
  async (template) => {
    const tokenizer = createTokenizer(readPublished(template.name));
    const [end] = tokenizer.encode(template.end, { addSpecialTokens: false });
    const random = seededRandom(7);
    const script: number[] = [];
    const { backend, conversation } = fakeConversations(tokenizer, [end ?? 0], {
      next: () => script.shift() ?? end ?? 0,
      contextLength: 8192,
      runAhead: 2,
    });
    const chat = conversation({ system: "You are terse, and kind." });
    let held = 0;
    let respelled = 0;
    for (let turn = 0; turn < TURNS; turn++) {
      const question = `What of the number ${turn}? Naïve 🙂 question ${turn * 37}.`;
      const answer = `Number ${turn} isn't unusual, "really": naïveté 🙂 und Straßenbahnhaltestelle, ${turn ** 3}!`;
      script.push(...cutAnywhere(answer, tokenizer, random));
      const sampled = script.length;
      const calls = backend.calls.length;
      const run = chat.send(question);
      expect(await run.text()).toBe(answer);
      const { usage } = await run.end;
      if (turn > 0) {
        const added = tokenizer.encode(template.between(question), { addSpecialTokens: false }).length;
        expect(usage.cachedTokens).toBe(held);
        expect(usage.promptTokens - usage.cachedTokens).toBe(added);
        const prefilled = backend.calls
          .slice(calls)
          .reduce((sum, call) => sum + (call.call === "prefill" ? call.length : 0), 0);
        expect(prefilled).toBe(added);
      }
      expect(usage.completionTokens).toBe(sampled);
      held = usage.promptTokens + sampled;
      if (tokenizer.encode(answer, { addSpecialTokens: false }).length !== sampled) respelled++;
      expect(chat.remaining).toBe(8192 - held);
    }
    expect(respelled).toBe(TURNS); // else it would have been easy
    expect(await tokenizer.encodeChat(chat.messages.slice(0, -1))).not.toHaveLength(held);
  },
);
