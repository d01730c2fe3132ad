// Template of an adapter. It "generates" a fixed token and exists to show and test the interface.
//
// load(ctx) -> session. ctx:
//   host        'page' | 'node'
//   shape       the checkpoint's shape (hidden, layers, heads, kvHeads, ffn, vocab, ..., name)
//   options     this row's options, from engines/index.mjs
//   contextLength  how many positions prompt and answer take
//   texts       page only: text of every token id
//   modelUrl    page only: URL of the checkpoint folder (config.json, model.safetensors, model-*.gguf, onnx/)
//   modelRoot   URL (page) or path (node) of the folder above it
//   modelDir    node only: path of the checkpoint folder
//   import(n)   imports package n (page: through the import map of run.mjs; see --import)
//   moduleUrl(p) page only: URL of a file in node_modules
//   log(...)    kept with the result when run with --logs
//
// session:
//   info        anything to keep with the result (version, threads)
//   generate({ promptIds, promptText, maxNewTokens, onToken }) -> { ids, timings? }
//               greedy; must not reuse work of earlier calls; calls onToken(id) when each token is known to JS
//   dispose()
export async function load() {
  return {
    info: { version: "example" },
    async generate({ promptIds, maxNewTokens, onToken }) {
      const ids = [];
      for (let i = 0; i < maxNewTokens; i++) {
        await new Promise((ok) => setTimeout(ok, 1));
        ids.push(promptIds[0]);
        onToken(promptIds[0]);
      }
      return { ids };
    },
    async dispose() {},
  };
}
