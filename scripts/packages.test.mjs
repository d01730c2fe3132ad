/** What is installed: exact versions, from one registry, without a script of theirs being run. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (file) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), "utf8"));
const own = read("package.json");
const lock = read("package-lock.json");
const installed = Object.entries(lock.packages).filter(([path]) => path !== "");

test("package.json and package-lock.json name one version of each package, not a range", () => {
  const named = { ...own.dependencies, ...own.devDependencies, ...own.overrides };
  expect(Object.entries(named).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  const [locked] = [lock.packages[""]];
  expect(locked.dependencies).toEqual(own.dependencies);
  expect(locked.devDependencies).toEqual(own.devDependencies);
});

test("the versions that are named are those that are installed", () => {
  const named = Object.entries({ ...own.dependencies, ...own.devDependencies });
  expect(named.filter(([name, version]) => lock.packages[`node_modules/${name}`]?.version !== version)).toEqual([]);
});

test("each package comes from the registry that npm is set to, none from an address of its own, and its bytes are known", () => {
  const others = installed.filter(
    ([, { resolved, integrity, link, bundled }]) => link || bundled || resolved || !integrity?.startsWith("sha512-"),
  );
  expect(others.map(([path]) => path)).toEqual([]);
});

test("install scripts: those that there are, are not needed, and none is run (see install.mjs)", () => {
  const scripted = installed
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ""));
  // webgpu: makes room; sharp: tells whether its binaries are there; protobufjs: a hint about versions; fsevents: macOS only.
  expect(
    [...new Set(scripted)].sort().filter((name) => !["fsevents", "protobufjs", "sharp", "webgpu"].includes(name)),
  ).toEqual([]);
  expect(readFileSync(new URL("install.mjs", import.meta.url), "utf8")).toContain("--ignore-scripts");
});

test("what would need a script of its own works without: webgpu opens in Node", async () => {
  const { create } = await import("webgpu");
  expect(typeof create).toBe("function");
});
