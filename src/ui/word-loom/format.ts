/** Numbers as people read them, always with their unit; the blank before a unit does not break. And a few words. */
import type { GeneratorInfo } from "../generator";
import * as words from "../words/element";
import { formatNumber } from "../words/localization";
import type { ModelSource } from "./options";

const KIB = 1024;
const NBSP = "\u00a0";

/** 10 957 152 → "10.4 MiB". Whole below 1 KiB, one decimal up to 100, none above. */
export function formatBytes(sizeBytes: number): string {
  if (sizeBytes < KIB) return `${Math.round(sizeBytes)}${NBSP}B`;
  let value = sizeBytes;
  let unit = "B";
  for (const next of ["KiB", "MiB", "GiB", "TiB"]) {
    if (value < KIB && roundedDigits(value) < KIB) break;
    value /= KIB;
    unit = next;
  }
  return `${decimal(value)}${NBSP}${unit}`;
}

/** 5 475 584 → "5.5 M", 1 235 814 400 → "1.2 B" (billion); whole below ten thousand. */
export function formatCount(count: number): string {
  if (count < 10_000) return String(Math.round(count));
  if (count < 999_500) return words.thousands(decimal(count / 1e3));
  if (count < 999_500_000) return words.millions(decimal(count / 1e6));
  return words.billions(decimal(count / 1e9));
}

export function formatTokensPerSecond(tokensPerSecond: number): string {
  return words.tokensPerSecond(decimal(tokensPerSecond));
}

/** 0.4 → "0.4 ms", 1234 → "1.2 s", 125 000 → "2 min 5 s". */
export function formatDuration(elapsedMs: number): string {
  if (elapsedMs < 999.5) return `${decimal(elapsedMs)}${NBSP}ms`;
  const seconds = elapsedMs / 1000;
  if (seconds < 59.5) return `${decimal(seconds)}${NBSP}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}${NBSP}min ${whole % 60}${NBSP}s`;
  return `${Math.floor(whole / 3600)}${NBSP}h ${Math.floor((whole % 3600) / 60)}${NBSP}min`;
}

/** As `formatDuration`, but in whole seconds, at least one: an estimate has no decimals. */
export function formatRemaining(remainingMs: number): string {
  const seconds = Math.max(1, Math.round(remainingMs / 1000));
  return seconds < 60 ? `${seconds}${NBSP}s` : formatDuration(remainingMs);
}

/** "4.2 of 10.4 MiB", or "4.2 MiB" where the total is unknown. */
export function formatBytesOf(loadedBytes: number, totalBytes: number | undefined): string {
  if (totalBytes === undefined || totalBytes <= 0) return formatBytes(loadedBytes);
  const [loaded, loadedUnit] = formatBytes(loadedBytes).split(NBSP);
  const [total, totalUnit] = formatBytes(totalBytes).split(NBSP);
  return words.bytesOf(
    `${loaded}${loadedUnit === totalUnit ? "" : NBSP + (loadedUnit ?? "")}`,
    `${total}${NBSP}${totalUnit}`,
  );
}

/** Completes "computed by …": a software adapter is the processor, whatever its interface. */
export function computedBy(info: Pick<GeneratorInfo, "backend" | "isFallbackAdapter">): string {
  if (info.backend === "reference") return words.byReference();
  if (info.isFallbackAdapter) return words.bySoftware();
  return words.byGraphicsCard();
}

/** The last part of a path or hub name, as a person would call the model: "wordloom-stories", "Qwen3-0.6B". */
export function modelName(source: ModelSource): string {
  if (typeof source !== "string") return "name" in source ? source.name : nameOfFiles(source);
  const path = source.replace(/[?#].*$/, "").replace(/\/+$/, "");
  const last = path.slice(path.lastIndexOf("/") + 1) || path;
  return last.replace(/@[^@]*$/, "") || source;
}

/** Their folder, or the only one. */
function nameOfFiles(files: readonly File[]): string {
  const [first] = files;
  if (first === undefined) return words.noFiles();
  const [folder, ...below] = first.webkitRelativePath.split("/");
  if (folder !== undefined && below.length > 0) return folder;
  return files.length === 1 ? first.name : words.fileCount(files.length);
}

function decimal(value: number): string {
  return value < 99.95 ? formatNumber(value, 1, { fixed: true }) : formatNumber(value, 0);
}

function roundedDigits(value: number): number {
  return value < 99.95 ? Math.round(value * 10) / 10 : Math.round(value);
}
