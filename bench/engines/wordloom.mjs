// Wordloom, from the built library (npm run build in the folder above). options: { file, dtype, kvDtype }
// file: a path in the checkpoint's folder; none: the folder itself, as Hugging Face publishes it.
export async function load(ctx) {
  const { TextGenerator } = await ctx.import("wordloom");
  const { file, dtype, kvDtype, tier } = ctx.options;
  const generator = await TextGenerator.load(file ? `${ctx.modelUrl}/${file}` : ctx.modelUrl, {
    dtype,
    ...(kvDtype && { kvDtype }),
    contextLength: ctx.contextLength,
    backend: "webgpu",
    ...(tier && { internal: { tier } }),
    store: "off", // the peers read over the network each time, too
  });
  const { dtype: held, kvDtype: cache, tier: taken, bytes } = generator.info;
  return {
    info: {
      dtype: held,
      kvDtype: cache,
      tier: taken,
      plannedGpuBytes: bytes.weights + bytes.kvCache + bytes.activations,
    },
    async generate({ promptIds, maxNewTokens, onToken }) {
      const ids = [];
      const run = generator.generate(promptIds, {
        maxNewTokens,
        temperature: 0,
        ignoreEos: true,
        reusePrefix: false,
      });
      for await (const { tokens } of run) {
        for (const { id } of tokens) {
          ids.push(id);
          onToken(id);
        }
      }
      return { ids, timings: (await run.end).timings };
    },
    async dispose() {
      await generator.dispose();
    },
  };
}
