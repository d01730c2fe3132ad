/**
 * Runs a parsed chat template with the meaning that Python's Jinja gives it.
 *
 * `@huggingface/jinja` parses; its own interpreter is not used, because it differs where nobody would see it: variables
 * set in one turn of a loop live on in the next, what is printed before `continue` is lost, `strip("\n")` strips all
 * white space, "1" equals 1, lists and booleans print as in JavaScript, and nothing bounds its work.
 */
import type {
  ArgumentNode,
  CallNode,
  ExpressionNode,
  ForNode,
  IdentifierNode,
  MemberNode,
  ParameterNode,
  ProgramNode,
  SetNode,
  SliceNode,
  StatementNode,
  TargetNode,
} from "./template-nodes";
import { applyFilter, applyTest, isIn } from "./template-filters";
import { keyOf, methodOf } from "./template-methods";
import { applyOperator } from "./template-operators";
import {
  Callable,
  equals,
  Float,
  isTrue,
  itemsOf,
  joinTexts,
  MAX_STRING_LENGTH,
  Namespace,
  numberOf,
  print,
  spendList,
  spendReading,
  spendText,
  toValue,
  Tuple,
  typeName,
  type Value,
} from "./template-values";

/**
 * A conversation of 1,000 messages takes a few hundred thousand steps with the longest published templates. A step is
 * one expression, one item of a list that is compared or filtered, 32 characters or 16 items of an operand, or 2 items of
 * a list that is made: all strings together stay below 64 million characters, all lists below 4 million items.
 */
const MAX_STEPS = 2_000_000;
/** In UTF-16 units, of all that is written: the text, and what macros and blocks write for it. */
const MAX_WRITTEN = 4 * MAX_STRING_LENGTH;

class Scope {
  readonly names = new Map<string, Value>();

  constructor(private readonly parent: Scope | undefined) {}

  get(name: string): Value {
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- the chain of scopes begins here
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.parent) {
      if (scope.names.has(name)) return scope.names.get(name);
    }
    return undefined;
  }
}

type Flow = "break" | "continue" | undefined;

/**
 * @param program what the parser made of the template
 * @param names the variables and functions the template may use
 * @throws Error where Python's Jinja raises one, for what is not supported (by its name), and beyond the bounds above
 */
export function runTemplate(program: ProgramNode, names: Readonly<Record<string, unknown>>): string {
  const globals = new Scope(undefined);
  for (const [name, value] of Object.entries({ ...FUNCTIONS, ...names })) globals.names.set(name, toValue(value));
  return new Evaluator().text(program.body, globals);
}

const FUNCTIONS = {
  namespace: new Callable((args, named) => {
    const first = args[0];
    const attributes = new Map<string, Value>();
    if (first instanceof Map) for (const [name, value] of first) attributes.set(String(name), value);
    for (const [name, value] of named) attributes.set(name, value);
    return new Namespace(attributes);
  }),
  dict: new Callable((args, named) => new Map([...(args[0] instanceof Map ? args[0] : []), ...named])),
  range: new Callable((args) => {
    const numbers = args.map((value) => numberOf(value) ?? NaN);
    const [from = 0, to = 0, step = 1] = numbers.length === 1 ? [0, numbers[0]] : numbers;
    const count = Math.max(0, Math.ceil((to - from) / step));
    // Python's sandbox has this bound.
    if (!(count <= 100_000)) throw new Error(`range() of ${count} numbers; 100,000 are the most`);
    return Array.from({ length: count }, (_, i) => from + i * step);
  }),
};

class Evaluator {
  private steps = 0;
  private written = 0;

  private readonly spend = (steps: number): void => {
    this.steps += steps;
    if (this.steps > MAX_STEPS) throw new Error(`it takes more than ${MAX_STEPS} steps`);
  };

  /** What a block prints. */
  text(body: readonly StatementNode[], scope: Scope): string {
    const output: string[] = [];
    this.run(body, scope, output);
    return output.join("");
  }

  private run(body: readonly StatementNode[], scope: Scope, output: string[]): Flow {
    for (const statement of body) {
      const flow = this.runOne(statement, scope, output);
      if (flow !== undefined) return flow;
    }
    return undefined;
  }

  private runOne(statement: StatementNode, scope: Scope, output: string[]): Flow {
    this.spend(1);
    switch (statement.type) {
      case "If":
        return this.run(
          isTrue(this.value(statement.test, scope)) ? statement.body : statement.alternate,
          scope,
          output,
        );
      case "For":
        this.loop(statement, scope, output);
        return undefined;
      case "Set":
        this.set(statement, scope);
        return undefined;
      case "Macro":
        scope.names.set(statement.name.value, this.macro(statement.args, statement.body, scope));
        return undefined;
      case "CallStatement": {
        const { args, named } = this.arguments(statement.call.args, scope);
        named.set("caller", this.macro(statement.callerArgs ?? [], statement.body, scope));
        this.write(this.call(statement.call.callee, args, named, scope), output);
        return undefined;
      }
      case "FilterStatement":
        this.write(this.filter(statement.filter, this.text(statement.body, new Scope(scope)), scope), output);
        return undefined;
      case "Break":
        return "break";
      case "Continue":
        return "continue";
      case "Comment":
        return undefined;
      default:
        this.write(this.value(statement, scope), output);
        return undefined;
    }
  }

  private write(value: Value, output: string[]): void {
    const text = print(value, this.spend);
    this.written += text.length;
    if (this.written > MAX_WRITTEN) throw new Error(`it writes more than ${MAX_WRITTEN} characters`);
    output.push(text);
  }

  private loop(node: ForNode, scope: Scope, output: string[]): void {
    const select = node.iterable.type === "SelectExpression" ? node.iterable : undefined;
    const all = itemsOf(this.value(select?.lhs ?? node.iterable, scope));
    this.charge(all);
    const items = all.filter((item) => {
      if (select === undefined) return true;
      const inner = new Scope(scope);
      this.assign(node.loopvar, item, inner);
      return isTrue(this.value(select.test, inner));
    });
    if (items.length === 0) {
      this.run(node.defaultBlock, new Scope(scope), output);
      return;
    }
    for (const [i, item] of items.entries()) {
      this.spend(8);
      // Each turn has a scope of its own: what it sets is gone afterwards.
      const inner = new Scope(scope);
      inner.names.set("loop", this.loopVariable(items, i));
      this.assign(node.loopvar, item, inner);
      if (this.run(node.body, inner, output) === "break") break;
    }
  }

  private loopVariable(items: readonly Value[], i: number): Namespace {
    const cycle = new Callable((args) => args[i % args.length]);
    return new Namespace(
      new Map<string, Value>([
        ...([["index", i + 1], ["index0", i], ["revindex", items.length - i]] as const), // prettier-ignore
        ...([["revindex0", items.length - i - 1], ["length", items.length], ["depth", 1], ["depth0", 0]] as const), // prettier-ignore
        ...([["first", i === 0], ["last", i === items.length - 1], ["cycle", cycle]] as const), // prettier-ignore
        ...([["previtem", items[i - 1]], ["nextitem", items[i + 1]]] as const), // prettier-ignore
      ]),
    );
  }

  private assign(target: TargetNode, value: Value, scope: Scope): void {
    if (target.type === "Identifier") {
      scope.names.set(target.value, value);
      return;
    }
    const items = itemsOf(value);
    if (items.length !== target.value.length) {
      throw new Error(`${items.length} values cannot be unpacked into ${target.value.length} names`);
    }
    target.value.forEach((name, i) => {
      this.assign(name, items[i], scope);
    });
  }

  private set({ assignee, value, body }: SetNode, scope: Scope): void {
    const assigned = value === null ? this.text(body, new Scope(scope)) : this.value(value, scope);
    if (assignee.type !== "MemberExpression") {
      this.assign(assignee, assigned, scope);
      return;
    }
    const object = this.value(assignee.object, scope);
    if (!(object instanceof Namespace) || assignee.property.type !== "Identifier") {
      throw new Error(`an attribute of ${typeName(object)} cannot be set; only a namespace's can`);
    }
    object.attributes.set(assignee.property.value, assigned);
  }

  private macro(parameters: readonly ParameterNode[], body: readonly StatementNode[], outer: Scope): Callable {
    return new Callable((args, named) => {
      const scope = new Scope(outer);
      const rest = new Map(named);
      parameters.forEach((parameter, i) => {
        const name = parameter.type === "Identifier" ? parameter.value : parameter.key.value;
        const isGiven = i < args.length || rest.has(name);
        const given = i < args.length ? args[i] : rest.get(name);
        rest.delete(name);
        const fallback = parameter.type === "Identifier" ? undefined : parameter.value;
        scope.names.set(name, isGiven || fallback === undefined ? given : this.value(fallback, scope));
      });
      scope.names.set("caller", rest.get("caller"));
      rest.delete("caller");
      scope.names.set("varargs", Tuple.holding(args.slice(parameters.length)));
      scope.names.set("kwargs", rest);
      return this.text(body, scope);
    });
  }

  /** For work that grows with the size of `operand`. */
  private charge(operand: Value): void {
    if (typeof operand === "string") spendReading(operand, this.spend);
    else if (Array.isArray(operand)) this.spend(operand.length / 16);
    else if (operand instanceof Map) this.spend(operand.size / 16);
  }

  /** Evaluates, and refuses a string or a list far beyond what a chat needs. */
  private value(node: ExpressionNode, scope: Scope): Value {
    this.spend(1);
    const value = this.evaluate(node, scope);
    if (node.type === "Identifier") return value; // a name only points at what was paid for
    if (typeof value === "string") spendText(value.length, this.spend);
    else this.charge(value);
    if (Array.isArray(value) && node.type !== "MemberExpression") spendList(value.length, this.spend);
    return value;
  }

  private evaluate(node: ExpressionNode, scope: Scope): Value {
    switch (node.type) {
      case "IntegerLiteral":
      case "StringLiteral":
        return node.value;
      case "FloatLiteral":
        return new Float(node.value);
      case "ArrayLiteral":
        return node.value.map((item) => this.value(item, scope));
      case "TupleLiteral":
        return Tuple.holding(node.value.map((item) => this.value(item, scope)));
      case "ObjectLiteral":
        return new Map(
          [...node.value].map(([key, item]) => [keyOf(this.value(key, scope)), this.value(item, scope)] as const),
        );
      case "Identifier":
        return scope.get(node.value);
      case "CallExpression": {
        const { args, named } = this.arguments(node.args, scope);
        return this.call(node.callee, args, named, scope);
      }
      case "MemberExpression":
        return this.member(node, scope);
      case "UnaryExpression": {
        const value = this.value(node.argument, scope);
        return node.operator.value === "not"
          ? !isTrue(value)
          : applyOperator(node.operator.value, 0, value, this.spend);
      }
      case "BinaryExpression":
        return this.binary(node.operator.value, node.left, node.right, scope);
      case "FilterExpression":
        return this.filter(node.filter, this.value(node.operand, scope), scope);
      case "TestExpression": {
        const value = this.value(node.operand, scope);
        if (typeof value === "string") this.charge(value);
        return node.negate !== applyTest(node.test.value, value, undefined, this.spend);
      }
      case "SelectExpression": // `a if b` without else
        return isTrue(this.value(node.test, scope)) ? this.value(node.lhs, scope) : undefined;
      case "Ternary":
        return this.value(isTrue(this.value(node.condition, scope)) ? node.trueExpr : node.falseExpr, scope);
      default:
        throw new Error(`${(node as { type: string }).type} is not supported`); // the parser knows more than is listed
    }
  }

  private binary(operator: string, leftNode: ExpressionNode, rightNode: ExpressionNode, scope: Scope): Value {
    const left = this.value(leftNode, scope);
    if (operator === "and") return isTrue(left) ? this.value(rightNode, scope) : left;
    if (operator === "or") return isTrue(left) ? left : this.value(rightNode, scope);
    const right = this.value(rightNode, scope);
    this.charge(left);
    this.charge(right);
    switch (operator) {
      case "==":
        return equals(left, right, this.spend);
      case "!=":
        return !equals(left, right, this.spend);
      case "in":
        return isIn(left, right, this.spend);
      case "not in":
        return !isIn(left, right, this.spend);
      case "~":
        return joinTexts([print(left, this.spend), print(right, this.spend)], "", this.spend);
    }
    for (const [node, value] of [
      [leftNode, left],
      [rightNode, right],
    ] as const) {
      // prettier-ignore
      if (value === undefined) throw new Error(`${describe(node)} is undefined`);
    }
    return applyOperator(operator, left, right, this.spend);
  }

  private filter(node: IdentifierNode | CallNode, value: Value, scope: Scope): Value {
    this.charge(value);
    if (node.type === "Identifier") return applyFilter(node.value, value, [], new Map(), this.spend);
    const { args, named } = this.arguments(node.args, scope);
    return applyFilter(describe(node.callee), value, args, named, this.spend);
  }

  private arguments(nodes: readonly ArgumentNode[], scope: Scope): { args: Value[]; named: Map<string, Value> } {
    const args: Value[] = [];
    const named = new Map<string, Value>();
    for (const node of nodes) {
      if (node.type === "KeywordArgumentExpression") named.set(node.key.value, this.value(node.value, scope));
      else if (node.type === "SpreadExpression") args.push(...itemsOf(this.value(node.argument, scope)));
      else if (node.type === "KeywordSpreadExpression") {
        const more = this.value(node.argument, scope);
        if (!(more instanceof Map)) throw new Error(`** wants a dict, not ${typeName(more)}`);
        for (const [name, value] of more) named.set(String(name), value);
      } else args.push(this.value(node, scope));
    }
    return { args, named };
  }

  private call(callee: ExpressionNode, args: Value[], named: Map<string, Value>, scope: Scope): Value {
    this.spend(2 * (args.length + named.size));
    const called = this.value(callee, scope);
    if (!(called instanceof Callable)) throw new Error(`${describe(callee)} is ${typeName(called)}, not a function`);
    return called.call(args, named);
  }

  /** `a.b` looks for a method first, `a["b"]` for an item. */
  private member(node: MemberNode, scope: Scope): Value {
    const object = this.value(node.object, scope);
    if (object === undefined) throw new Error(`${describe(node.object)} is undefined`);
    if (node.property.type === "SliceExpression") return this.slice(object, node.property, scope);
    const isName = !node.computed && node.property.type === "Identifier";
    const key = isName ? describe(node.property) : this.value(node.property, scope);
    const method = typeof key === "string" ? methodOf(object, key, this.spend) : undefined;
    if (method !== undefined) this.charge(object);
    return isName ? (method ?? itemOf(object, key)) : (itemOf(object, key) ?? method);
  }

  private slice(object: Value, node: SliceNode, scope: Scope): Value {
    this.charge(object);
    if (typeof object !== "string" && !Array.isArray(object)) throw new Error(`${typeName(object)} cannot be sliced`);
    const items = itemsOf(object);
    const bound = (part: ExpressionNode | undefined): number | undefined => {
      const value = part === undefined ? undefined : this.value(part, scope);
      if (value === undefined || value === null) return undefined;
      if (typeof value !== "number") throw new Error(`a slice wants whole numbers, not ${typeName(value)}`);
      return value;
    };
    const step = bound(node.step) ?? 1;
    if (step === 0) throw new Error("a slice with a step of 0");
    this.spend(items.length);
    const [lowest, highest] = step > 0 ? [0, items.length] : [-1, items.length - 1];
    const clamp = (value: number | undefined, absent: number): number =>
      value === undefined ? absent : Math.min(highest, Math.max(lowest, value < 0 ? value + items.length : value));
    const start = clamp(bound(node.start), step > 0 ? lowest : highest);
    const stop = clamp(bound(node.stop), step > 0 ? highest : lowest);
    const taken: Value[] = [];
    for (let i = start; step > 0 ? i < stop : i > stop; i += step) taken.push(items[i]);
    if (typeof object === "string") return (taken as string[]).join(""); // its characters
    return object instanceof Tuple ? Tuple.holding(taken) : taken;
  }
}

function itemOf(object: Value, key: Value): Value {
  if (object instanceof Map) return typeof key === "string" || typeof key === "number" ? object.get(key) : undefined;
  if (object instanceof Namespace) return typeof key === "string" ? object.attributes.get(key) : undefined;
  if (typeof key !== "number") return undefined;
  if (Array.isArray(object)) return object.at(key);
  return typeof object === "string" ? Array.from(object).at(key) : undefined;
}

/** A node as an error message names it. */
function describe(node: ExpressionNode | SliceNode): string {
  if (node.type === "Identifier") return node.value;
  if (node.type === "MemberExpression") return `${describe(node.object)}.${describe(node.property)}`;
  return node.type === "StringLiteral" || node.type === "IntegerLiteral" ? String(node.value) : "an expression";
}
