import { expect, test, vi } from "vitest";
import { FakeGenerator, FAKE_PROGRESS } from "../testing/fake-generator";
import { SharedGenerators } from "./shared-generators";

const waiting = () => ({ signal: new AbortController().signal, onProgress: vi.fn() });

test("two leases of one key share one generator, and the last release disposes of it", async () => {
  const shared = new SharedGenerators();
  const generator = new FakeGenerator();
  const load = vi.fn(async () => generator);
  const first = await shared.acquire("a", load, waiting());
  const second = await shared.acquire("a", load, waiting());
  expect(load).toHaveBeenCalledTimes(1);
  expect(second.generator).toBe(generator);
  first.release();
  first.release();
  await Promise.resolve();
  expect(generator.disposed).toBe(0);
  second.release();
  await vi.waitFor(() => expect(generator.disposed).toBe(1));
});

test("different keys load different generators", async () => {
  const shared = new SharedGenerators();
  const load = vi.fn(async () => new FakeGenerator());
  const a = await shared.acquire("a", load, waiting());
  const b = await shared.acquire("b", load, waiting());
  expect(a.generator).not.toBe(b.generator);
});

test("progress reaches everyone who waits, also who came later and when it is reported at once", async () => {
  const shared = new SharedGenerators();
  const [one, two] = [waiting(), waiting()];
  let finish: (generator: FakeGenerator) => void = () => {};
  const acquired = shared.acquire(
    "a",
    ({ onProgress }) => {
      FAKE_PROGRESS.forEach(onProgress);
      return new Promise((resolve) => (finish = resolve));
    },
    one,
  );
  void shared.acquire("a", () => Promise.reject(new Error("loaded twice")), two);
  expect(one.onProgress).toHaveBeenLastCalledWith(FAKE_PROGRESS.at(-1));
  expect(two.onProgress).toHaveBeenLastCalledWith(FAKE_PROGRESS.at(-1));
  finish(new FakeGenerator());
  await acquired;
});

test("loading goes on while one still waits, and is aborted when nobody does", async () => {
  const shared = new SharedGenerators();
  let loading: AbortSignal | undefined;
  const load = ({ signal }: { signal: AbortSignal }) => {
    loading = signal;
    return new Promise<FakeGenerator>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const [one, two] = [new AbortController(), new AbortController()];
  const first = shared.acquire("a", load, { signal: one.signal, onProgress: () => {} });
  const second = shared.acquire("a", load, { signal: two.signal, onProgress: () => {} });
  one.abort(new Error("first left"));
  await expect(first).rejects.toThrow("first left");
  expect(loading?.aborted).toBe(false);
  two.abort(new Error("second left"));
  await expect(second).rejects.toThrow("second left");
  expect(loading?.aborted).toBe(true);
});

test("what failed to load is loaded anew by the next", async () => {
  const shared = new SharedGenerators();
  await expect(shared.acquire("a", () => Promise.reject(new Error("404")), waiting())).rejects.toThrow("404");
  const lease = await shared.acquire("a", async () => new FakeGenerator(), waiting());
  expect(lease.generator).toBeInstanceOf(FakeGenerator);
});

test("after a discard the next one gets a newly loaded generator, while others keep theirs until they release it", async () => {
  const shared = new SharedGenerators();
  const lost = new FakeGenerator();
  const first = await shared.acquire("a", async () => lost, waiting());
  const second = await shared.acquire("a", async () => lost, waiting());
  first.discard();
  const third = await shared.acquire("a", async () => new FakeGenerator(), waiting());
  expect(third.generator).not.toBe(lost);
  expect(lost.disposed).toBe(0);
  second.release();
  await vi.waitFor(() => expect(lost.disposed).toBe(1));
});
