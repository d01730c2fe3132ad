/** What is kept of conversations, in a file system in memory. */
import { expect, test } from "vitest";
import { memoryStorage } from "../testing/memory-storage";
import { ConversationStore } from "./conversation-store";

const bytes = (text: string) => new TextEncoder().encode(text);
async function* parts(...texts: string[]) {
  for (const text of texts) yield bytes(text);
}

test.each(["sync", "writable"] as const)("written in parts, read, listed, replaced, deleted (%s)", async (writes) => {
  const place = memoryStorage({ writes });
  const store = new ConversationStore(place);
  const name = "Über / alles: 100%";
  expect(await store.list()).toEqual([]);
  expect(await store.read(name)).toBeUndefined();
  await store.write(name, parts("one, ", "two"));
  await store.write("b", parts("other"));
  expect(await (await store.read(name))?.text()).toBe("one, two");
  expect((await store.list()).map((one) => [one.name, one.bytes])).toEqual([
    [name, 8],
    ["b", 5],
  ]);
  for (const text of ["a longer one", "3"]) {
    await store.write(name, parts(text));
    expect(await (await store.read(name))?.text()).toBe(text);
  }
  expect(place.contents.size).toBe(2); // nothing is left of what was replaced
  await store.delete(name);
  await store.delete(name);
  expect((await store.list()).map((one) => one.name)).toEqual(["b"]);
});

test("what fails on the way leaves what was kept before", async () => {
  const place = memoryStorage({ writes: "sync" });
  const store = new ConversationStore(place);
  await store.write("a", parts("kept"));
  async function* failing() {
    yield bytes("half");
    throw new RangeError("the cache is gone");
  }
  await expect(store.write("a", failing())).rejects.toMatchObject({ code: "storage-failed" });
  expect(await (await store.read("a"))?.text()).toBe("kept");
  place.quotaBytes = 6;
  await expect(store.write("a", parts("too long"))).rejects.toMatchObject({
    code: "storage-failed",
    message: "there is no room left in this browser's storage",
  });
  expect(await (await store.read("a"))?.text()).toBe("kept");
});

test("a name that no file can have is refused", async () => {
  const store = new ConversationStore(memoryStorage({ writes: "sync" }));
  for (const name of ["", "x".repeat(201), "語".repeat(23)]) {
    await expect(store.write(name, parts("a")), name).rejects.toMatchObject({ code: "option-invalid" });
  }
});
