// Child process of run.mjs: measures one row whose host is Node.
import { measure } from "./bench-core.mjs";
import { usage } from "./usage.mjs";
import { nodeContext } from "./node-host.mjs";

process.once("message", async ({ job, models, modules }) => {
  let result;
  try {
    const { load } = await import(`./engines/${job.engine}.mjs`);
    const ctx = nodeContext({
      shape: job.shape,
      models,
      modules,
      options: job.options,
      contextLength: job.contextLength,
    });
    result = {
      ok: true,
      ...(await measure({
        ...job,
        load,
        ctx,
        snapshot: null,
        usage: () => usage(),
        progress: (m) => process.send({ progress: m }),
      })),
    };
  } catch (e) {
    result = { ok: false, error: String(e?.stack ?? e) };
  }
  process.send({ result });
});
