/** A constraint as EBNF, with a measure of what compiling it takes; what would take too much is refused before. */
import { WordloomError } from "../errors";
import type { Constraint } from "./constraint";
import { placesOfEbnf } from "./ebnf";
import { chars, choice, ebnfOf, placesOf, rule, text, withoutImpossible } from "./expression";
import type { Expression, Grammar } from "./expression";
import { schemaGrammar } from "./json-schema";
import { regexExpression } from "./regex";

export interface EbnfGrammar {
  ebnf: string;
  /** For a character, with all repetitions written out. */
  places: number;
}

/** @throws WordloomError option-invalid, with what is not understood or allows no text at all */
export function grammarOf(constraint: Constraint): EbnfGrammar {
  if (constraint.kind === "grammar") return { ebnf: constraint.text, places: placesOfEbnf(constraint.text) };
  const grammar = pruned(treeOf(constraint));
  return { ebnf: ebnfOf(grammar), places: placesOf(grammar) };
}

export function treeOf(constraint: Exclude<Constraint, { kind: "grammar" }>): Grammar {
  switch (constraint.kind) {
    case "json-schema":
      return schemaGrammar(constraint.schema);
    case "regex": {
      const { source, flags } = constraint;
      const root = regexExpression(source, { name: "constraint.regex", flags, matches: "all" });
      return { root, rules: new Map() };
    }
    case "choice":
      return { root: choice(...constraint.texts.map(text)), rules: new Map() };
  }
}

/** Without rules and options that no text of finite length is one of, and without rules that nothing leads to. */
export function pruned({ root, rules }: Grammar): Grammar {
  const ending = new Set<string>();
  for (let before = -1; before < ending.size;) {
    before = ending.size;
    for (const [name, body] of rules) if (canEnd(body, ending)) ending.add(name);
  }
  if (!canEnd(root, ending)) {
    throw new WordloomError("option-invalid", "the constraint allows no text of finite length at all");
  }
  const clean = (expression: Expression): Expression => withoutImpossible(withoutRules(expression, ending));
  const reached = new Map<string, Expression>();
  const cleanRoot = clean(root);
  const waiting = [...rulesIn(cleanRoot)];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const body = rules.get(name);
    if (reached.has(name) || body === undefined) continue;
    reached.set(name, clean(body));
    waiting.push(...rulesIn(reached.get(name) ?? body));
  }
  return { root: cleanRoot, rules: reached };
}

function canEnd(expression: Expression, ending: ReadonlySet<string>): boolean {
  switch (expression.kind) {
    case "text":
      return true;
    case "chars":
      return expression.set.length > 0;
    case "sequence":
      return expression.parts.every((part) => canEnd(part, ending));
    case "choice":
      return expression.options.some((option) => canEnd(option, ending));
    case "repeat":
      return expression.min === 0 || canEnd(expression.body, ending);
    case "rule":
      return ending.has(expression.name);
  }
}

/** With no text in place of the rules that never end. */
function withoutRules(expression: Expression, ending: ReadonlySet<string>): Expression {
  const within = (one: Expression) => withoutRules(one, ending);
  switch (expression.kind) {
    case "rule":
      return ending.has(expression.name) ? rule(expression.name) : chars([]);
    case "sequence":
      return { kind: "sequence", parts: expression.parts.map(within) };
    case "choice":
      return { kind: "choice", options: expression.options.map(within) };
    case "repeat":
      return { ...expression, body: within(expression.body) };
    default:
      return expression;
  }
}

function rulesIn(expression: Expression): string[] {
  switch (expression.kind) {
    case "rule":
      return [expression.name];
    case "sequence":
      return expression.parts.flatMap(rulesIn);
    case "choice":
      return expression.options.flatMap(rulesIn);
    case "repeat":
      return rulesIn(expression.body);
    default:
      return [];
  }
}
