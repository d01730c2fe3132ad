/** Numbers as the inspector shows them. */
import { formatNumber } from "../words/localization";

const NBSP = "\u00a0";

/** 0.4321 → "43 %"; below 1 % with the digits that tell it from 0. */
export function formatShare(share: number): string {
  const percent = 100 * share;
  if (percent > 99.5 && percent < 100) return `>${NBSP}99${NBSP}%`;
  if (percent >= 9.95 || percent === 0) return `${formatNumber(percent, 0)}${NBSP}%`;
  if (percent < 0.01) return `<${NBSP}${formatNumber(0.01, 2)}${NBSP}%`;
  return `${formatNumber(percent, percent < 0.1 ? 2 : 1)}${NBSP}%`;
}

/** With two digits behind the point and a true minus. */
export function formatNats(value: number): string {
  return formatNumber(value, 2, { fixed: true }).replace("-", "−");
}
