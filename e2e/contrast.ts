/** What can be read and hit: contrast and sizes, computed in the page, through shadow roots. */
import type { Page } from "@playwright/test";

/** Texts and field borders below WCAG's AA contrast (4.5; large text and borders 3), as "ratio: what". */
export function lowContrast(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("no canvas to read colours with");
    type Colour = [red: number, green: number, blue: number, alpha: number];

    /** Any CSS colour, as the browser itself paints it. */
    const parse = (colour: string): Colour => {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const [red = 0, green = 0, blue = 0, alpha = 0] = context.getImageData(0, 0, 1, 1).data;
      return [red, green, blue, alpha / 255];
    };
    const over = ([r, g, b, a]: Colour, [br, bg, bb]: Colour): Colour => {
      const mix = (top: number, below: number) => a * top + (1 - a) * below;
      return [mix(r, br), mix(g, bg), mix(b, bb), 1];
    };
    const luminance = ([r, g, b]: Colour) => {
      const linear = (value: number) => (value <= 10.31 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    };
    const ratio = (one: Colour, other: Colour) => {
      const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
      return (light + 0.05) / (dark + 0.05);
    };

    /** The parent as it is painted: a slot's, a shadow root's host. */
    const above = (element: Element): Element | null => {
      const parent = element.assignedSlot ?? element.parentNode;
      return parent instanceof ShadowRoot ? parent.host : parent instanceof Element ? parent : null;
    };
    const backgroundOf = (element: Element | null): Colour => {
      if (!element) return parse("Canvas");
      const colour = parse(getComputedStyle(element).backgroundColor);
      return colour[3] === 1 ? colour : over(colour, backgroundOf(above(element)));
    };

    const low: string[] = [];
    const check = (element: Element, style: CSSStyleDeclaration, what: string) => {
      const background = backgroundOf(element);
      const size = Number.parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const found = ratio(over(parse(style.color), background), background);
      if (found < (large ? 3 : 4.5)) low.push(`${found.toFixed(2)}: ${what.trim().slice(0, 60)}`);
    };
    const visit = (root: Document | ShadowRoot) => {
      for (const element of root.querySelectorAll("*")) {
        if (element.shadowRoot) visit(element.shadowRoot);
        if (!element.checkVisibility({ visibilityProperty: true })) continue;
        const style = getComputedStyle(element);
        const own = [...element.childNodes].filter((node) => node instanceof Text).map((node) => node.data);
        if (own.join("").trim() !== "") check(element, style, own.join(""));
        const before = getComputedStyle(element, "::before");
        if (before.content !== "none" && before.content !== "normal") check(element, before, before.content);
        if (element.matches("input:not([type=range], [type=radio], [type=checkbox]), select, textarea")) {
          check(element, style, (element as HTMLInputElement).value || "a value");
          const background = backgroundOf(above(element));
          const border = ratio(over(parse(style.borderTopColor), background), background);
          if (border < 3) low.push(`${border.toFixed(2)}: border of ${element.id}`);
        }
      }
    };
    visit(document);
    return low;
  });
}

/** What can be clicked or tapped and is smaller than 24 by 24 pixels; a field's label counts as a part of it. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const small: string[] = [];
    const visit = (root: Document | ShadowRoot) => {
      for (const element of root.querySelectorAll("*")) {
        if (element.shadowRoot) visit(element.shadowRoot);
        if (!element.matches("a, button, input, select, textarea, summary, [tabindex='0'], [role=textbox]")) continue;
        if (!element.checkVisibility({ visibilityProperty: true })) continue;
        const { width, height } = (element.closest("label") ?? element).getBoundingClientRect();
        if (width < 24 || height < 24)
          small.push(`${Math.round(width)}×${Math.round(height)}: ${element.id || element.textContent}`);
      }
    };
    visit(document);
    return small;
  });
}
