/** The probability of a token as one of eight shades: the less likely, the stronger. */

/** Lower bounds of all shades but the last; probabilities of at least 0.9 get the first, which is none. */
export const SHADE_BOUNDS = [0.9, 0.7, 0.5, 0.3, 0.15, 0.05, 0.015] as const;

export const SHADE_COUNT = SHADE_BOUNDS.length + 1;

/** @returns 0 (as good as sure) to SHADE_COUNT - 1 (hardly expected) */
export function shadeOf(probability: number): number {
  const index = SHADE_BOUNDS.findIndex((bound) => probability >= bound);
  return index < 0 ? SHADE_BOUNDS.length : index;
}

/** Names of the highlights, as `::highlight()` and `CSS.highlights` know them. */
export const shadeName = (shade: number): string => `wordloom-shade-${shade}`;
export const CURSOR_NAME = "wordloom-cursor";
export const HOVER_NAME = "wordloom-hover";

/**
 * One ramp of lightness at one hue: the shade itself, behind ink of full strength, keeps a contrast of 4.5 to 1 and more.
 *
 * @returns a CSS colour for both themes
 */
export function shadeColour(shade: number): string {
  const strength = shade / (SHADE_COUNT - 1);
  const light = (0.985 - 0.235 * strength).toFixed(3);
  const dark = (0.2 + 0.25 * strength).toFixed(3);
  const chroma = (0.1 * strength).toFixed(3);
  return `light-dark(oklch(${light} ${chroma} 282), oklch(${dark} ${chroma} 282))`;
}

/**
 * For the shadow root that holds the text. A highlight's rules are looked up where the text is, so they cannot stand in
 * the inspector's own styles. In forced colours there is one background, so the underline's weight tells.
 */
export function highlightRules(): string {
  const shades = Array.from({ length: SHADE_COUNT }, (_, shade) => shade);
  const ink = "light-dark(#1d1d21, #e4e3e0)";
  return [
    ...shades
      .slice(1)
      .map((shade) => `::highlight(${shadeName(shade)}) { background-color: ${shadeColour(shade)}; color: ${ink}; }`),
    `::highlight(${HOVER_NAME}) { text-decoration: underline 2px ${ink}; }`,
    `::highlight(${CURSOR_NAME}) { background-color: light-dark(#3b3f9e, #aab2ff); color: light-dark(#fff, #141519); }`,
    "@media (forced-colors: active) {",
    ...shades
      .slice(1)
      .map(
        (shade) =>
          `::highlight(${shadeName(shade)}) { background-color: Canvas; color: CanvasText;` +
          ` text-decoration: underline ${shade}px CanvasText; }`,
      ),
    `::highlight(${HOVER_NAME}) { text-decoration: underline 3px Highlight; }`,
    `::highlight(${CURSOR_NAME}) { background-color: Highlight; color: HighlightText; }`,
    "}",
  ].join("\n");
}
