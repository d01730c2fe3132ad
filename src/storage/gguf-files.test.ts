import { describe, expect, test } from "vitest";
import { memoryFiles } from "../testing/memory-files";
import { findGguf } from "./gguf-files";
import { openDirectoryHandle } from "./directory-handle";
import { openFileList } from "./file-list";

const folder = (...names: string[]) => memoryFiles(Object.fromEntries(names.map((name) => [name, ""])));
const found = (...names: string[]) => findGguf(folder(...names), undefined);

describe("the GGUF model of a folder", () => {
  test.each([
    ["the only .gguf file", ["a.gguf", "readme.md"], ["a.gguf"]],
    ["none where there is none", ["config.json", "a.bin"], undefined],
    ["none where there are safetensors", ["config.json", "model.safetensors", "a.gguf"], undefined],
    ["none where there are shards", ["config.json", "model.safetensors.index.json", "a.gguf"], undefined],
    ["the file, though a config.json lies beside it", ["config.json", "A.GGUF"], ["A.GGUF"]],
    ["not the vision part of it", ["a.gguf", "mmproj-a.gguf"], ["a.gguf"]],
    [
      "all its parts, in order",
      ["a-00002-of-00003.gguf", "a-00003-of-00003.gguf", "a-00001-of-00003.gguf"],
      ["a-00001-of-00003.gguf", "a-00002-of-00003.gguf", "a-00003-of-00003.gguf"],
    ],
  ])("%s", async (_, names, expected) => expect(await found(...names)).toEqual(expected));

  test("several are refused with their names", async () => {
    await expect(
      found("a-q8.gguf", "a-q4.gguf", "b-00001-of-00002.gguf", "b-00002-of-00002.gguf"),
    ).rejects.toMatchObject({
      code: "source-unsupported",
      message: expect.stringMatching(
        /3 GGUF models in memory: a-q4.gguf, a-q8.gguf, b-0000\d-of-00002.gguf$/,
      ) as string,
    });
  });
});

describe("a file that the source names", () => {
  const chosen = (name: string) => findGguf({ ...folder("a.gguf", "b.gguf"), chosen: name }, undefined);
  test("is taken, whatever lies beside it", async () => expect(await chosen("b.gguf")).toEqual(["b.gguf"]));
  test("stands for all its parts, in its own folder", async () => {
    expect(await chosen("q4/a-00002-of-00002.gguf")).toEqual(["q4/a-00001-of-00002.gguf", "q4/a-00002-of-00002.gguf"]);
  });
  test.each(["a-00001-of-00000.gguf", "a-00001-of-99999.gguf"])("%s is refused", async (name) => {
    await expect(chosen(name)).rejects.toMatchObject({ code: "source-unsupported" });
  });
});

test("a .gguf file as a File object is the model", async () => {
  const files = openFileList([new File(["GGUF"], "tiny-Q4_0.gguf")]);
  expect(await findGguf(files, undefined)).toEqual(["tiny-Q4_0.gguf"]);
  expect((await files.find("tiny-Q4_0.gguf"))?.sizeBytes).toBe(4);
});

test("the files of a directory handle are listed, its folders are not", async () => {
  async function* entries() {
    yield ["a.gguf", { kind: "file" }];
    yield ["b.gguf", { kind: "directory" }];
  }
  const handle = { name: "m", entries } as unknown as FileSystemDirectoryHandle; // all that listing asks for
  expect(await findGguf(openDirectoryHandle(handle), undefined)).toEqual(["a.gguf"]);
});
