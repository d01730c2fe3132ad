// Makes pre-tokenizers.json: what llama.cpp makes of texts under each name of tokenizer.ggml.pre that Wordloom knows.
//
//   npm install --prefix ELSEWHERE node-llama-cpp@3.22.1
//   node src/testing/gguf/make_pre_tokenizers.mjs ELSEWHERE
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { runnerImport } from "vite";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const load = async (path) => (await runnerImport(join(root, "src", path))).module;
const [{ makeGguf }, { preTokenizerFile, tokenTypes, hashOf }, { generateTexts }, { GGUF_PRE_TOKENIZERS }] =
  await Promise.all([
    load("testing/make-gguf.ts"),
    load("testing/gguf/pre-tokenizer-file.ts"),
    load("testing/tokenizer-golden/generated-texts.ts"),
    load("tokenizer/gguf-pre-tokenizers.ts"),
  ]);
const entry = createRequire(join(process.argv[2], "x.js")).resolve("node-llama-cpp");
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry).href);

const file = preTokenizerFile();
// Pieces that some patterns cut where small letters and capitals meet: "JavaScript", "IDs".
const mixed = file.pieces.filter((piece) => /[a-z][A-Z]|[A-Z]{2}[a-z]/.test(piece)).map((piece) => piece.replace("Ġ", " "));
const words = Array.from({ length: 40 }, (_, i) => [0, 1, 2, 3, 4].map((k) => mixed[(i * 97 + k * 31) % mixed.length]));
// Composed, since llama.cpp never does that, and Wordloom does where the model's own tokenizer does.
const texts = [...generateTexts(19, 320).slice(1), ...words.map((each) => each.join(""))].map((text) => text.replace(/\p{Surrogate}/gu, "\ufffd").normalize("NFC").slice(0, 160));
const folder = mkdtempSync(join(tmpdir(), "wordloom-"));
const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.disabled });
const hashes = {};
for (const name of Object.keys(GGUF_PRE_TOKENIZERS)) {
  const path = join(folder, `${name}.gguf`);
  const metadata = [
    ["general.architecture", ["string", "llama"]],
    ["tokenizer.ggml.model", ["string", "gpt2"]],
    ["tokenizer.ggml.pre", ["string", name]],
    ["tokenizer.ggml.tokens", ["array", ["string", file.pieces]]],
    ["tokenizer.ggml.token_type", ["array", ["i32", [...tokenTypes(file)]]]],
    ["tokenizer.ggml.merges", ["array", ["string", file.merges]]],
    ["tokenizer.ggml.bos_token_id", ["u32", file.pieces.length - 1]],
    ["tokenizer.ggml.eos_token_id", ["u32", file.pieces.length - 1]],
  ];
  writeFileSync(path, makeGguf({ metadata }));
  const model = await llama.loadModel({ modelPath: path, vocabOnly: true });
  hashes[name] = texts.map((text) => hashOf(model.tokenize(text, false))).join("");
  if (process.argv[3]) writeFileSync(join(process.argv[3], `${name}.json`), JSON.stringify(texts.map((text) => model.tokenize(text, false))));
  await model.dispose();
}
rmSync(folder, { recursive: true });
const result = { engine: `llama.cpp ${llama.llamaCppRelease.release}, node-llama-cpp 3.22.1`, texts, hashes };
writeFileSync(join(root, "src/testing/gguf/pre-tokenizers.json"), `${JSON.stringify(result, null, 1)}\n`);
process.exit(0);
