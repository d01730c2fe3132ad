// The measurement itself, the same in the page and in Node: load, warm up, a whole generation, a prompt alone.
// snapshot() gives totals of GPU calls (none outside the page); usage() gives CPU times (see usage.mjs).

const difference = (before, after) =>
  Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));

/** @param prompts { warm, whole, alone }: three that have nothing in common, so that nothing cached helps */
export async function measure({ load, ctx, prompts, newTokens, warmTokens, snapshot, usage, progress = () => {} }) {
  const now = () => performance.now();
  const loadStart = now();
  const session = await load(ctx);
  const loadMs = now() - loadStart;
  progress(`loaded in ${(loadMs / 1000).toFixed(1)} s`);

  const run = async (prompt, count) => {
    const before = await snapshot?.();
    const usedBefore = await usage();
    const stamps = [];
    const start = now();
    const { ids, timings } = await session.generate({
      promptIds: prompt.ids,
      promptText: prompt.text,
      maxNewTokens: count,
      onToken: () => stamps.push(now()),
    });
    const end = now();
    const used = await usage();
    const after = await snapshot?.();
    const cpuS = used.own - usedBefore.own;
    return {
      ids,
      timings,
      firstTokenMs: stamps[0] - start,
      decodeMsPerToken: (stamps.at(-1) - stamps[0]) / (stamps.length - 1),
      totalMs: end - start,
      cpuMs: cpuS * 1000,
      othersCores: Math.max(0, (used.busy - usedBefore.busy - cpuS) / (used.t - usedBefore.t)),
      counts: after && difference(before.counts, after.counts),
    };
  };

  const warm = await run(prompts.warm, warmTokens);
  progress(`warmed up in ${(warm.totalMs / 1000).toFixed(1)} s`);
  const whole = await run(prompts.whole, newTokens);
  const numbers = `first token ${whole.firstTokenMs.toFixed(0)} ms, then ${whole.decodeMsPerToken.toFixed(1)} ms a token`;
  progress(`${numbers} (${whole.othersCores.toFixed(1)} cores used by others)`);
  // Counts and CPU time of decoding are those of the whole without those of a prompt alone.
  const alone = await run(prompts.alone, 1);
  const ttftMs = (whole.firstTokenMs + alone.firstTokenMs) / 2;
  const decoded = whole.ids.length - 1;
  const result = {
    info: session.info ?? null,
    loadMs,
    warmupMs: warm.totalMs,
    ids: whole.ids,
    timings: whole.timings ?? null,
    ttftMs,
    prefillTokPerS: prompts.whole.ids.length / (ttftMs / 1000),
    decodeMsPerToken: whole.decodeMsPerToken,
    decodeTokPerS: 1000 / whole.decodeMsPerToken,
    decodeCpuMsPerToken: (whole.cpuMs - alone.cpuMs) / decoded,
    prefillCpuMs: alone.cpuMs,
    othersCores: whole.othersCores,
  };
  if (snapshot) {
    const { counts, devices, workers } = await snapshot();
    const perToken = Object.entries(whole.counts)
      .filter(([name]) => !name.startsWith("bufferBytes"))
      .map(([name, count]) => [name, (count - alone.counts[name]) / decoded]);
    Object.assign(result, {
      prefillCounts: alone.counts,
      perToken: Object.fromEntries(perToken),
      peakGpuBytes: counts.bufferBytesPeak,
      liveGpuBytes: counts.bufferBytesLive,
      devices,
      workers,
    });
  }
  await session.dispose?.();
  return result;
}
