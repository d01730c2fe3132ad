// Page side of the runner: window.runRow(job) measures one engine row and returns the result.
import { measure } from "/bench-core.mjs";

window.runRow = async (job) => {
  const { shape, engine, options, prompts, newTokens, warmTokens, texts, contextLength } = job;
  const logs = [];
  const log = (...a) => {
    if (logs.length < 2000) logs.push(a.map((x) => (typeof x === "string" ? x : JSON.stringify(x))).join(" "));
  };
  const moduleUrl = (p) => new URL(`/modules/${p}`, location.href).href;
  const ctx = {
    host: "page",
    shape,
    options,
    log,
    texts,
    contextLength,
    moduleUrl,
    modelRoot: new URL("/models/", location.href).href,
    modelUrl: new URL(`/models/${shape.name}`, location.href).href,
    import: (name) => import(name),
  };
  try {
    const { load } = await import(`/engines/${engine}.mjs`);
    const result = await measure({
      load,
      ctx,
      prompts,
      newTokens,
      warmTokens,
      snapshot: () => __gpuProbe.snapshot(),
      usage: () => window.__usage(),
      progress: (m) => console.log(`[bench] ${m}`),
    });
    return { ok: true, ...result, crossOriginIsolated, logs };
  } catch (e) {
    return { ok: false, error: String(e?.stack ?? e), crossOriginIsolated, logs };
  }
};
window.ready = true;
