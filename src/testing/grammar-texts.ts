import type { Grammar } from "../structured/expression";
import { Beginning } from "./grammar-prefixes";

/** Whether it is one of the grammar's texts, as a whole. */
export function isTextOf(grammar: Grammar, text: string): boolean {
  return Beginning.of(grammar).after(new TextEncoder().encode(text))?.canEnd ?? false;
}
