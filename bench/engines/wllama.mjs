// wllama (llama.cpp compiled to wasm, ggml-webgpu backend). options: { file, gpu, threads }
export async function load(ctx) {
  const { Wllama } = await ctx.import("@wllama/wllama");
  const { file, gpu, threads } = ctx.options;
  const logger = { debug: ctx.log, log: ctx.log, warn: ctx.log, error: ctx.log };
  const wllama = new Wllama({ default: ctx.moduleUrl("@wllama/wllama/esm/wasm/wllama.wasm") }, { logger });
  const blob = await (await fetch(`${ctx.modelUrl}/${file}`)).blob();
  await wllama.loadModel([blob], {
    n_ctx: Math.max(512, 256 * Math.ceil(ctx.contextLength / 256)),
    n_batch: 512,
    n_ubatch: 512,
    n_parallel: 1,
    n_gpu_layers: gpu ? 99999 : 0,
    n_threads: threads ?? 1,
    ...ctx.options.load,
  });
  const ids = new Map(ctx.texts.map((t, i) => [t, i]));
  return {
    info: { version: Wllama.getLibllamaVersion(), threads: wllama.getNumThreads() },
    async generate({ promptText, maxNewTokens, onToken }) {
      const out = [];
      let timings = null,
        usage = null;
      await wllama.createCompletion({
        prompt: promptText,
        max_tokens: maxNewTokens,
        temperature: 0,
        top_k: 1,
        samplers: ["top_k"],
        cache_prompt: false,
        stream: true,
        onData(chunk) {
          const text = chunk.choices?.[0]?.text;
          if (text) {
            out.push(ids.get(text) ?? -1);
            onToken(out.at(-1));
          }
          timings = chunk.timings ?? timings;
          usage = chunk.usage ?? usage;
        },
      });
      return { ids: out, timings: { ...timings, usage } };
    },
    async dispose() {
      await wllama.exit();
    },
  };
}
