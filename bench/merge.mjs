// From the rounds of one row to one result: medians of what was timed; what is counted must be the same each time.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const TIMED = ["loadMs", "warmupMs", "ttftMs", "prefillTokPerS", "decodeMsPerToken", "decodeTokPerS"];
const USED = ["decodeCpuMsPerToken", "prefillCpuMs", "othersCores"];

/** @param runs one result of each round; a row that has failed once has failed */
export function mergeRounds(runs) {
  const failed = runs.find((run) => !run.ok);
  if (failed) return failed;
  const [first] = runs;
  const medians = Object.fromEntries([...TIMED, ...USED].map((name) => [name, median(runs.map((run) => run[name]))]));
  return {
    ...first,
    ...medians,
    decodeBestMsPerToken: Math.min(...runs.map((run) => run.decodeMsPerToken)),
    peakGpuBytes: first.peakGpuBytes && Math.max(...runs.map((run) => run.peakGpuBytes)),
    rounds: runs.map((run) => Object.fromEntries([...TIMED, ...USED].map((name) => [name, run[name]]))),
    ids: runs.map((run) => run.ids),
  };
}

function common(a, b) {
  let count = 0;
  while (count < Math.min(a.length, b.length) && a[count] === b[count]) count++;
  return count;
}

/** How many of the first greedy tokens are those of llama.cpp on the CPU, on the same numbers; for each prompt. */
export function withAgreement(results) {
  return results.map((result) => {
    const judge = results.find((one) => one.ok && one.judges === result.group);
    if (!result.ok || !judge) return result;
    const agree = result.ids.map((ids, i) => common(ids, judge.ids[i]));
    return { ...result, agree, agreeWith: judge.id, same: agree.every((count, i) => count === judge.ids[i].length) };
  });
}
