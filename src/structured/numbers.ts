/** JSON numbers within bounds, as expressions: no exponent, no "-0", no needless zeros in front. */
import { choice, chars, EMPTY, optional, repeat, sequence, text, type Expression } from "./expression";

/** Bounds as a schema has them; undefined: none. */
export interface Bounds {
  minimum: number | undefined;
  maximum: number | undefined;
  exclusiveMinimum: number | undefined;
  exclusiveMaximum: number | undefined;
}

/** Integers have at most 15 digits, so that each is a double of its own. */
const LARGEST_INTEGER = 10 ** 15 - 1;
const FRACTION_DIGITS = 6;
const ONE = 10 ** FRACTION_DIGITS;
/** Beyond it there are only integers: with six digits after the point, 15 in all. */
const LARGEST_WITH_FRACTION = 10 ** 9 - 1;

/** @returns undefined where there is none within the bounds */
export function integers(bounds: Bounds): Expression | undefined {
  const { low, high } = limits(bounds, 0, LARGEST_INTEGER);
  return low > high ? undefined : withSign(low, high, wholeNumbers);
}

/** Up to six digits after the point below 10^9, integers above. @returns undefined where there is none */
export function decimals(bounds: Bounds): Expression | undefined {
  const { low, high } = limits(bounds, FRACTION_DIGITS, (LARGEST_WITH_FRACTION + 1) * ONE - 1);
  const large = limits(bounds, 0, LARGEST_INTEGER);
  const border = LARGEST_WITH_FRACTION + 1;
  const above = { low: Math.max(large.low, border), high: large.high };
  const below = { low: large.low, high: Math.min(large.high, -border) };
  const options = [
    ...(low <= high ? [withSign(low, high, fractions)] : []),
    ...[above, below].flatMap((range) => (range.low > range.high ? [] : withSign(range.low, range.high, wholeNumbers))),
  ];
  return options.length === 0 ? undefined : choice(...options);
}

/** The bounds in units of 10^-digits, inclusive, within ±most. */
function limits(bounds: Bounds, digits: number, most: number): { low: number; high: number } {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const lows = [-most, ...given(minimum).map((value) => above(value, digits, false))];
  lows.push(...given(exclusiveMinimum).map((value) => above(value, digits, true)));
  const highs = [-most, ...given(maximum).map((value) => above(-value, digits, false))];
  highs.push(...given(exclusiveMaximum).map((value) => above(-value, digits, true)));
  return { low: Math.max(...lows), high: -Math.max(...highs) };
}

const given = (value: number | undefined): number[] => (value === undefined ? [] : [value]);

/** The least multiple of 10^-digits that is at least (or above) `value`, in those units; exact, by its decimal spelling. */
function above(value: number, digits: number, exclusive: boolean): number {
  const [mantissa = "", exponent = "0"] = value.toString().replace("-", "").split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const shift = Number(exponent) - fraction.length + digits;
  const all = BigInt(whole + fraction) * (value < 0 ? -1n : 1n);
  const unit = shift < 0 ? 10n ** BigInt(-shift) : 1n;
  const scaled = shift > 0 ? all * 10n ** BigInt(shift) : all;
  const truncated = scaled / unit;
  const isExact = truncated * unit === scaled;
  const floor = !isExact && scaled < 0n ? truncated - 1n : truncated;
  return Number(isExact && !exclusive ? floor : floor + 1n);
}

/** `low` to `high`, of which at least one is there, by the expression of a range of those that are not negative. */
function withSign(low: number, high: number, range: (low: number, high: number) => Expression): Expression {
  const negative = low < 0 ? [sequence(text("-"), range(Math.max(1, -high), -low))] : [];
  return choice(...negative, ...(high >= 0 ? [range(Math.max(0, low), high)] : []));
}

function wholeNumbers(low: number, high: number): Expression {
  const options: Expression[] = low === 0 ? [text("0")] : [];
  let full: { from: number; to: number } | undefined;
  for (let length = String(Math.max(low, 1)).length; length <= String(high).length && high > 0; length++) {
    const first = Math.max(low, 10 ** (length - 1));
    const last = Math.min(high, 10 ** length - 1);
    if (first === 10 ** (length - 1) && last === 10 ** length - 1) {
      full = { from: full?.from ?? length, to: length };
    } else options.push(ofOneLength(String(first), String(last)));
  }
  if (full) options.push(sequence(digit(1, 9), repeat(digit(0, 9), full.from - 1, full.to - 1)));
  return choice(...options);
}

/** Numbers of as many digits as both have; zeros in front count. */
function ofOneLength(low: string, high: string): Expression {
  const rest = low.length - 1;
  if (rest === -1) return EMPTY;
  return byFirstDigit(low, high, {
    free: repeat(digit(0, 9), rest, rest),
    bound: (from, to) => ofOneLength(from, to),
  });
}

/** Units of 10^-6. */
function fractions(low: number, high: number): Expression {
  const [first, last] = [Math.floor(low / ONE), Math.floor(high / ONE)];
  const [from, to] = [low % ONE, high % ONE];
  if (first === last) return sequence(text(String(first)), fraction(from, to));
  // The integers in between, and the first one where nothing is cut off it, have any fraction.
  const free = { first: from === 0 ? first : first + 1, last: to === ONE - 1 ? last : last - 1 };
  const options: Expression[] = [];
  if (free.first > first) options.push(sequence(text(String(first)), fraction(from, ONE - 1)));
  if (free.first <= free.last) options.push(sequence(wholeNumbers(free.first, free.last), fraction(0, ONE - 1)));
  if (free.last < last) options.push(sequence(text(String(last)), fraction(0, to)));
  return choice(...options);
}

/** From the point on; nothing at all is 0. */
function fraction(low: number, high: number): Expression {
  if (high === 0) return EMPTY;
  const digits = (value: number) => String(value).padStart(FRACTION_DIGITS, "0");
  const shown = sequence(text("."), fractionDigits(digits(low), digits(high)));
  return low === 0 ? optional(shown) : shown;
}

/** At least one digit, at most as many as both have; those that are missing are 0. */
function fractionDigits(low: string, high: string): Expression {
  const rest = low.length - 1;
  return byFirstDigit(low, high, {
    free: rest === 0 ? EMPTY : repeat(digit(0, 9), 0, rest),
    bound: (from, to) => {
      if (rest === 0) return EMPTY;
      return isZero(from) ? optional(fractionDigits(from, to)) : fractionDigits(from, to);
    },
  });
}

function byFirstDigit(
  low: string,
  high: string,
  after: { free: Expression; bound: (low: string, high: string) => Expression },
): Expression {
  const [zeros, nines] = ["0".repeat(low.length - 1), "9".repeat(low.length - 1)];
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (first === last && !(lowRest === zeros && highRest === nines)) {
    return sequence(text(String(first)), after.bound(lowRest, highRest));
  }
  const free = { first: lowRest === zeros ? first : first + 1, last: highRest === nines ? last : last - 1 };
  const options: Expression[] = [];
  if (free.first > first) options.push(sequence(text(String(first)), after.bound(lowRest, nines)));
  if (free.first <= free.last) options.push(sequence(digit(free.first, free.last), after.free));
  if (free.last < last) options.push(sequence(text(String(last)), after.bound(zeros, highRest)));
  return choice(...options);
}

const isZero = (digits: string): boolean => /^0*$/.test(digits);

function digit(first: number, last: number): Expression {
  return first === last ? text(String(first)) : chars([[0x30 + first, 0x30 + last]]);
}
