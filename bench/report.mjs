// Text table of a report. Also a program: node report.mjs results/a.json [results/b.json ...]
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const num = (x, d = 1) =>
  x === undefined || x === null || Number.isNaN(x) ? "-" : Math.abs(x) >= 1000 ? x.toFixed(0) : x.toFixed(d);
const mib = (x) => (x ? num(x / 2 ** 20) : "-");

export function table(rep) {
  const head = [
    "row",
    "load s",
    "TTFT ms",
    "prefill tok/s",
    "decode ms/tok",
    "(best)",
    "decode tok/s",
    "CPU ms/tok",
    "others cores",
    "dispatch/tok",
    "submit/tok",
    "mapAsync/tok",
    "map B/tok",
    "write B/tok",
    "peak GPU MiB",
    "ids",
  ];
  const lines = rep.results.map((r) => {
    if (!r.ok) return [r.id, "failed: " + String(r.error).split("\n")[0].slice(0, 90)];
    const p = r.perToken ?? {};
    return [
      r.id,
      num(r.loadMs / 1000),
      num(r.ttftMs, 0),
      num(r.prefillTokPerS),
      num(r.decodeMsPerToken),
      num(r.decodeBestMsPerToken),
      num(r.decodeTokPerS, 2),
      num(r.decodeCpuMsPerToken),
      num(r.othersCores, 2),
      num(p.dispatches),
      num(p.submits, 2),
      num(p.mapAsyncs, 2),
      num(p.mapReadBytes, 0),
      num(p.writeBytes, 0),
      mib(r.peakGpuBytes),
      r.agree ? `${r.same ? "same" : r.agree.join("/")}` : "-",
    ];
  });
  const width = head.map((h, i) =>
    Math.max(
      h.length,
      ...lines.filter((l) => l.length > 2).map((l) => l[i].length),
      i ? 0 : Math.max(...lines.map((l) => l[0].length)),
    ),
  );
  const fmt = (l) =>
    "| " + l.map((c, i) => (i ? c.padStart(l.length > 2 ? width[i] : 0) : c.padEnd(width[0]))).join(" | ") + " |";
  return [
    `${rep.shape.name}: prompt ${rep.promptTokens} tokens, ${rep.newTokens} new tokens, median of ${rep.rounds} rounds; ${rep.cpu}, ${rep.cores} cores; ${num(rep.seconds, 0)} s in all`,
    "",
    fmt(head),
    "|" + width.map((w, i) => (i ? "-".repeat(w + 1) + ":" : "-".repeat(w + 2))).join("|") + "|",
    ...lines.map(fmt),
  ].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const file of process.argv.slice(2))
    for (const one of JSON.parse(fs.readFileSync(file, "utf8"))) console.log(`${table(one)}\n`);
}
