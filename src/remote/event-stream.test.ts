import { describe, expect, test } from "vitest";
import { EventStream } from "./event-stream";

const encode = (text: string) => new TextEncoder().encode(text);

/** All events of `text` when its bytes come in pieces of the given sizes, again and again. */
function eventsOf(text: string, sizes: readonly number[]): string[] {
  const bytes = encode(text);
  const stream = new EventStream();
  const events: string[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    events.push(...stream.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return events;
}

const SIZES = [[1], [2], [3], [5], [7, 1], [1, 64], [1000]];

describe("event stream", () => {
  test.each([
    ["LF", 'data: {"a":"é😀"}\n\ndata: b\n\n', ['{"a":"é😀"}', "b"]],
    ["CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
    ["CR", "data: a\r\rdata: b\r\r", ["a", "b"]],
    ["comments that keep the connection open", ": ping\n\n: ping\n\ndata: a\n\n:\n\n", ["a"]],
    ["no blank after the colon", "data:a\n\ndata:  b\n\n", ["a", " b"]],
    ["other fields", "event: message\nid: 7\nretry: 10\ndata: a\n\n", ["a"]],
    ["several lines of data", "data: a\ndata\ndata: b\n\n", ["a\n\nb"]],
    ["a byte order mark", "\ufeffdata: a\n\n", ["a"]],
    ["llama.cpp's old field of failures", 'error: {"code":500}\n\n', ['{"error":{"code":500}}']],
    ["a name that only begins like it", "database: a\n\ndata: b\n\n", ["b"]],
    ["an event that is cut off", "data: a\n\ndata: b\n", ["a"]],
    ["no events", "\n\n\r\n", []],
  ])("%s, in pieces of every size", (_, text, events) => {
    for (const sizes of SIZES) expect(eventsOf(text, sizes), `pieces of ${sizes.join()}`).toEqual(events);
  });

  test("an event that never ends is refused, not collected", () => {
    const stream = new EventStream();
    const part = encode(`data: ${"a".repeat(1024 * 1024)}`);
    expect(() => {
      for (let at = 0; at < 8; at++) stream.push(part);
    }).toThrow(/more than 4194304 characters/);
  });
});
