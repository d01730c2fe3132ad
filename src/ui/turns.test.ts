import { expect, test, vi } from "vitest";
import { Turns } from "./turns";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setTimeout(resolve));

test("one has its turn at once, and others in the order of asking, who are told how many come before", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const ahead = { b: vi.fn(), c: vi.fn() };
  const endA = await turns.take(never, () => order.push("told"));
  void turns.take(never, ahead.b).then((end) => (order.push("b"), end()));
  void turns.take(never, ahead.c).then((end) => (order.push("c"), end()));
  expect([ahead.b.mock.calls, ahead.c.mock.calls]).toEqual([[[1]], [[2]]]);
  await settled();
  expect(order).toEqual([]);
  endA();
  endA();
  await settled();
  expect(order).toEqual(["b", "c"]);
  expect([ahead.b.mock.calls, ahead.c.mock.calls]).toEqual([
    [[1], [0]],
    [[2], [1], [0]],
  ]);
});

test("whoever asks again comes after all who wait", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const write = async (name: string) => {
    const end = await turns.take(never, () => {});
    order.push(name);
    await settled();
    end();
  };
  await Promise.all([write("a").then(() => write("a")), write("b"), write("c")]);
  expect(order).toEqual(["a", "b", "c", "a"]);
});

test("who leaves the queue is not waited for", async () => {
  const turns = new Turns();
  const leaving = new AbortController();
  const endA = await turns.take(never, () => {});
  const b = turns.take(leaving.signal, () => {});
  const ahead = vi.fn();
  const c = turns.take(never, ahead);
  leaving.abort(new Error("left"));
  await expect(b).rejects.toThrow("left");
  expect(ahead.mock.lastCall).toEqual([1]);
  endA();
  (await c)();
  (await turns.take(never, () => {}))();
});

test("a turn that has begun ends by its owner alone, and one that is aborted before is none", async () => {
  const turns = new Turns();
  const abort = new AbortController();
  const endA = await turns.take(abort.signal, () => {});
  const b = vi.fn();
  void turns.take(never, () => {}).then(b);
  abort.abort(new Error("stopped"));
  await settled();
  expect(b).not.toHaveBeenCalled();
  endA();
  await settled();
  expect(b).toHaveBeenCalledTimes(1);
  await expect(turns.take(abort.signal, () => {})).rejects.toThrow("stopped");
});
