// transformers.js (ONNX Runtime). options: { device: 'webgpu' | 'wasm' | 'cpu', dtype: 'fp32' | 'q4', threads }
export async function load(ctx) {
  const { AutoModelForCausalLM, Tensor, env } = await ctx.import("@huggingface/transformers");
  const { device, dtype, threads } = ctx.options;
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.useBrowserCache = false;
  env.useWasmCache = false;
  env.localModelPath = ctx.modelRoot;
  if (ctx.host === "page") {
    const dist = ctx.moduleUrl("onnxruntime-web/dist/");
    // The same build that transformers.js picks by default, from the local server.
    env.backends.onnx.wasm.wasmPaths = {
      mjs: `${dist}ort-wasm-simd-threaded.asyncify.mjs`,
      wasm: `${dist}ort-wasm-simd-threaded.asyncify.wasm`,
    };
    if (threads) env.backends.onnx.wasm.numThreads = threads;
  }
  const model = await AutoModelForCausalLM.from_pretrained(ctx.shape.name, { device, dtype, local_files_only: true });
  return {
    info: { version: env.version, device, dtype, threads: env.backends.onnx?.wasm?.numThreads },
    async generate({ promptIds, maxNewTokens, onToken }) {
      const ids = [];
      let first = true;
      const streamer = {
        put(batch) {
          if (first) {
            first = false;
            return;
          } // the prompt comes first
          const id = Number(batch[0][0]);
          ids.push(id);
          onToken(id);
        },
        end() {},
      };
      const n = promptIds.length;
      await model.generate({
        input_ids: new Tensor("int64", BigInt64Array.from(promptIds, BigInt), [1, n]),
        attention_mask: new Tensor("int64", new BigInt64Array(n).fill(1n), [1, n]),
        max_new_tokens: maxNewTokens,
        do_sample: false,
        streamer,
      });
      return { ids };
    },
    async dispose() {
      await model.dispose();
    },
  };
}
