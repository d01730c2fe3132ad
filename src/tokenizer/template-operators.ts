/** Python's operators on the values of a template, those apart that look at truth, membership or equality. */
import {
  compare,
  Float,
  numberOf,
  Tuple,
  spendList,
  spendText,
  typeName,
  type Spend,
  type Value,
} from "./template-values";

/** @throws Error for operands that Python refuses: a string and a number are not added */
export function applyOperator(operator: string, left: Value, right: Value, spend: Spend): Value {
  switch (operator) {
    case "<":
      return compare(left, right, spend) < 0;
    case ">":
      return compare(left, right, spend) > 0;
    case "<=":
      return compare(left, right, spend) <= 0;
    case ">=":
      return compare(left, right, spend) >= 0;
  }
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== undefined && b !== undefined) {
    const isFloat = left instanceof Float || right instanceof Float || operator === "/" || (operator === "**" && b < 0);
    const result = calculate(operator, a, b);
    return isFloat ? new Float(result) : result;
  }
  if (operator === "+") {
    if (typeof left === "string" && typeof right === "string") return left + right;
    if (Array.isArray(left) && Array.isArray(right) && left instanceof Tuple === right instanceof Tuple) {
      spendList(left.length + right.length, spend);
      return left.concat(right);
    }
  }
  if (operator === "*") {
    const [repeated, times] = typeof left === "number" ? [right, left] : [left, right];
    if (typeof repeated === "string" && typeof times === "number") return repeat(repeated, times, spend);
    if (Array.isArray(repeated) && typeof times === "number") {
      const count = Math.max(0, times);
      spend(count);
      spendList(count * repeated.length, spend);
      return Array.from({ length: count }, () => repeated).flat();
    }
  }
  throw new Error(`${typeName(left)} ${operator} ${typeName(right)} is not supported`);
}

function repeat(text: string, times: number, spend: Spend): string {
  const count = Math.max(0, times);
  spendText(text.length * count, spend);
  return text.repeat(count);
}

function calculate(operator: string, a: number, b: number): number {
  if (b === 0 && (operator === "/" || operator === "//" || operator === "%")) throw new Error("division by zero");
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "//":
      return Math.floor(a / b);
    case "%":
      return a - b * Math.floor(a / b);
    case "**":
      return a ** b;
    default:
      throw new Error(`the operator ${operator} is not supported`);
  }
}
