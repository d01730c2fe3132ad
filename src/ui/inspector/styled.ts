import { noChange } from "lit";
import { Directive, PartType, directive, type ElementPart, type PartInfo } from "lit/directive.js";

/**
 * Sets an element's own style properties. As `styleMap`, but never as a style attribute, which a page's policy
 * (`style-src` without `unsafe-inline`) refuses.
 */
class Styled extends Directive {
  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error("styled() stands in an element's tag, as a whole");
  }

  override render(properties: Readonly<Record<string, string>>): typeof noChange {
    void properties; // `update` sets them
    return noChange;
  }

  override update({ element }: ElementPart, [properties]: [Readonly<Record<string, string>>]): typeof noChange {
    if (element instanceof HTMLElement) {
      for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
    }
    return noChange;
  }
}

export const styled = directive(Styled);
