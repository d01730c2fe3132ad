import { expect, test } from "vitest";
import { strftime } from "./strftime";

// Values of Python 3 `datetime(...).strftime(...)`, C locale.
test.each([
  ["%Y-%m-%d %H:%M:%S", "2026-03-05 09:07:03"],
  ["%A %a %B %b %h", "Thursday Thu March Mar Mar"],
  ["%d %e %-d %m %-m %y %C", "05  5 5 03 3 26 20"],
  ["%I:%M %p %-I %l %k", "09:07 AM 9  9  9"],
  ["%j %-j %U %W %V %G %g %u %w", "064 64 09 09 10 2026 26 4 4"],
  ["%F %T %R %D", "2026-03-05 09:07:03 09:07 03/05/26"],
  ["%c|%x|%X|%r", "Thu Mar  5 09:07:03 2026|03/05/26|09:07:03|09:07:03 AM"],
  ["%f %z%Z%% %n%t", "045000 % \n\t"],
  ["%Q 100% %", "%Q 100% %"],
])("%s", (format, text) => {
  expect(strftime(format, new Date(2026, 2, 5, 9, 7, 3, 45))).toBe(text);
});

test.each([
  [new Date(2027, 0, 1), "53 2026 00 00 001 5"],
  [new Date(2024, 11, 30), "01 2025 52 53 365 1"],
  [new Date(2023, 0, 1, 0, 0), "52 2022 01 00 001 7"],
])("weeks and days at the turn of the year: %s", (date, text) => {
  expect(strftime("%V %G %U %W %j %u", date)).toBe(text);
});

test.each([
  [0, "12 AM"],
  [12, "12 PM"],
  [23, "11 PM"],
])("%i o'clock is %s", (hour, text) => {
  expect(strftime("%I %p", new Date(2026, 0, 1, hour))).toBe(text);
});
