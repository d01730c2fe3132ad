// node-llama-cpp (llama.cpp, native CPU build) in a Node process. options: { file, threads }
export async function load(ctx) {
  const { getLlama, LlamaLogLevel } = await ctx.import("node-llama-cpp");
  const llama = await getLlama({
    gpu: false,
    build: "never",
    skipDownload: true,
    progressLogs: false,
    logLevel: LlamaLogLevel.warn,
    maxThreads: ctx.options.threads,
  });
  const model = await llama.loadModel({ modelPath: `${ctx.modelDir}/${ctx.options.file}` });
  const kv = ctx.options.kv; // type of the key-value cache; llama.cpp's default is F16
  const context = await model.createContext({
    contextSize: Math.max(512, 256 * Math.ceil((ctx.contextLength ?? 0) / 256)),
    batchSize: 512,
    threads: ctx.options.threads,
    ...(kv && { experimentalKvCacheKeyType: kv, experimentalKvCacheValueType: kv }),
  });
  const sequence = context.getSequence();
  return {
    info: { version: "node-llama-cpp", threads: ctx.options.threads },
    async generate({ promptIds, maxNewTokens, onToken }) {
      await sequence.clearHistory();
      const ids = [];
      for await (const token of sequence.evaluate(promptIds, { temperature: 0, yieldEogToken: true })) {
        ids.push(token);
        onToken(token);
        if (ids.length >= maxNewTokens) break;
      }
      return { ids };
    },
    async dispose() {
      await context.dispose();
      await model.dispose();
    },
  };
}
