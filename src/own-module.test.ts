import { expect, test } from "vitest";
import { ownModule } from "./own-module";

test.each([
  "Failed to fetch dynamically imported module: https://page.example/a.js",
  "error loading dynamically imported module: https://page.example/a.js",
  "Importing a module script failed.",
])("a module that cannot be fetched is the network's failure: %s", async (message) => {
  await expect(ownModule(Promise.reject(new TypeError(message)))).rejects.toMatchObject({
    code: "network-failed",
    message: expect.stringContaining(message) as unknown,
  });
});

test("what a module itself throws stays what it is", async () => {
  const fault = new TypeError("x is not a function");
  await expect(ownModule(Promise.reject(fault))).rejects.toBe(fault);
  expect(await ownModule(Promise.resolve({ a: 1 }))).toEqual({ a: 1 });
});
