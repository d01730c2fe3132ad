/** Where a token's card stands: beside the text where there is room for it, so that it covers none; else below, as a sheet. */

export type CardPlace = { kind: "start" | "end"; width: number } | { kind: "sheet" };

/** Free widths in px left and right of the text. */
export interface Room {
  left: number;
  right: number;
}

/** Narrower than this, bars say nothing; wider than that, the eye has far to go. */
const NARROWEST = 272;
const WIDEST = 400;
/** Between card and text. */
const GAP = 16;

export function placeOf({ left, right }: Room): CardPlace {
  const side = right >= left ? right : left;
  if (side - GAP < NARROWEST) return { kind: "sheet" };
  return { kind: right >= left ? "end" : "start", width: Math.min(WIDEST, Math.floor(side - GAP)) };
}

/** Beside the element; where something else stands on the right (a side sheet), there is no room there. */
export function roomFor(element: Element): Room {
  const { left, right, top } = element.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const y = Math.min(Math.max(top + 8, 8), clientHeight - 8);
  const beside = document.elementFromPoint(clientWidth - 24, y);
  const isTaken = beside?.closest("aside") !== null && beside !== null && !beside.matches("wordloom-inspector");
  return { left, right: isTaken ? 0 : clientWidth - right };
}
