const MAX_FORMAT_LENGTH = 1000;

/**
 * Python's `datetime.strftime` for the `strftime_now` of chat templates: local time, English names.
 *
 * The fields are those of the C standard (ISO/IEC 9899:2018, 7.27.3.5) with glibc's `-` flag for no padding; as in
 * Python a time without zone has an empty `%Z` and `%z`, and an unknown field stays as it is written.
 */
export function strftime(format: string, date: Date): string {
  if (format.length > MAX_FORMAT_LENGTH) throw new Error(`a format of ${format.length} characters for the time`);
  return format.replace(/%(-?)([A-Za-z%])/g, (field: string, flag: string, letter: string) => {
    const value = FIELDS[letter]?.(date);
    if (value === undefined) return field;
    return flag === "-" ? value.replace(/^[0 ]+(?=\d)/, "") : value;
  });
}

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

const FIELDS: Readonly<Record<string, (date: Date) => string>> = {
  a: (date) => weekday(date).slice(0, 3),
  A: weekday,
  b: (date) => month(date).slice(0, 3),
  B: month,
  c: (date) => strftime("%a %b %e %H:%M:%S %Y", date),
  C: (date) => padded(Math.floor(date.getFullYear() / 100)),
  d: (date) => padded(date.getDate()),
  D: (date) => strftime("%m/%d/%y", date),
  e: (date) => padded(date.getDate(), 2, " "),
  f: (date) => padded(date.getMilliseconds() * 1000, 6),
  F: (date) => strftime("%Y-%m-%d", date),
  g: (date) => padded(isoWeek(date).year % 100),
  G: (date) => padded(isoWeek(date).year, 4),
  h: (date) => month(date).slice(0, 3),
  H: (date) => padded(date.getHours()),
  I: (date) => padded(date.getHours() % 12 || 12),
  j: (date) => padded(dayOfYear(date) + 1, 3),
  k: (date) => padded(date.getHours(), 2, " "),
  l: (date) => padded(date.getHours() % 12 || 12, 2, " "),
  m: (date) => padded(date.getMonth() + 1),
  M: (date) => padded(date.getMinutes()),
  n: () => "\n",
  p: (date) => (date.getHours() < 12 ? "AM" : "PM"),
  P: (date) => (date.getHours() < 12 ? "am" : "pm"),
  r: (date) => strftime("%I:%M:%S %p", date),
  R: (date) => strftime("%H:%M", date),
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  S: (date) => padded(date.getSeconds()),
  t: () => "\t",
  T: (date) => strftime("%H:%M:%S", date),
  u: (date) => String(date.getDay() || 7),
  U: (date) => padded(Math.floor((dayOfYear(date) + 7 - date.getDay()) / 7)),
  V: (date) => padded(isoWeek(date).week),
  w: (date) => String(date.getDay()),
  W: (date) => padded(Math.floor((dayOfYear(date) + 7 - ((date.getDay() + 6) % 7)) / 7)),
  x: (date) => strftime("%m/%d/%y", date),
  X: (date) => strftime("%H:%M:%S", date),
  y: (date) => padded(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  z: () => "",
  Z: () => "",
  "%": () => "%",
};

function weekday(date: Date): string {
  return WEEKDAYS[date.getDay()] ?? "";
}

function month(date: Date): string {
  return MONTHS[date.getMonth()] ?? "";
}

function padded(value: number, width = 2, fill = "0"): string {
  return String(value).padStart(width, fill);
}

/** From 0. Counted in UTC, where every day has 24 hours. */
function dayOfYear(date: Date): number {
  const day = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return Math.round((day - Date.UTC(date.getFullYear(), 0, 1)) / 86_400_000);
}

/** ISO 8601: a week belongs to the year of its Thursday. */
function isoWeek(date: Date): { year: number; week: number } {
  const thursday = new Date(date.getFullYear(), date.getMonth(), date.getDate() + 4 - (date.getDay() || 7));
  return { year: thursday.getFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}
