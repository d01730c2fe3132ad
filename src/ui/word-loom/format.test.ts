import { expect, test } from "vitest";
import {
  computedBy,
  formatBytes,
  formatBytesOf,
  formatCount,
  formatDuration,
  formatRemaining,
  formatTokensPerSecond,
  modelName,
} from "./format";

/** The expectations are written with plain blanks; the functions give ones that do not break. */
const plain = (text: string) => text.replaceAll("\u00a0", " ");

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [6144, "6.0 KiB"],
  [1_048_575, "1.0 MiB"],
  [10_957_152, "10.4 MiB"],
  [104_857_600, "100 MiB"],
  [2_469_606_195, "2.3 GiB"],
])("%i bytes are written as %s", (bytes, text) => expect(plain(formatBytes(bytes))).toBe(text));

test.each([
  [6144, 10_240, "6.0 of 10.0 KiB"],
  [524_288, 10_957_152, "512 KiB of 10.4 MiB"],
  [524_288, undefined, "512 KiB"],
])("%i of %s bytes are written as %s", (loaded, total, text) => expect(plain(formatBytesOf(loaded, total))).toBe(text));

test.each([
  [512, "512"],
  [9999, "9999"],
  [49_152, "49.2 k"],
  [5_475_584, "5.5 M"],
  [999_600_000, "1.0 B"],
])("%i weights are written as %s", (count, text) => expect(plain(formatCount(count))).toBe(text));

test.each([
  [0.44, "0.4 ms"],
  [120, "120 ms"],
  [999.7, "1.0 s"],
  [1234, "1.2 s"],
  [59_700, "1 min 0 s"],
  [125_000, "2 min 5 s"],
  [3_725_000, "1 h 2 min"],
])("%f ms are written as %s", (elapsedMs, text) => expect(plain(formatDuration(elapsedMs))).toBe(text));

test.each([
  [300, "1 s"],
  [4600, "5 s"],
  [59_400, "59 s"],
  [125_000, "2 min 5 s"],
])("%f ms that remain are written as %s", (remainingMs, text) =>
  expect(plain(formatRemaining(remainingMs))).toBe(text),
);

test("what computes is called by what it is", () => {
  expect(computedBy({ backend: "webgpu", isFallbackAdapter: false })).toBe("the graphics card");
  expect(computedBy({ backend: "webgpu", isFallbackAdapter: true })).toContain("the processor");
  expect(computedBy({ backend: "reference", isFallbackAdapter: false })).toContain("the processor");
});

test("a speed has one decimal below a hundred and none above", () => {
  expect(plain(formatTokensPerSecond(41.23))).toBe("41.2 tokens/s");
  expect(plain(formatTokensPerSecond(123.4))).toBe("123 tokens/s");
});

test.each([
  ["models/wordloom-stories", "wordloom-stories"],
  ["https://example.org/m/tiny/", "tiny"],
  ["hf:org/name@main", "name"],
  ["hf:org/name/file-Q8_0.gguf", "file-Q8_0.gguf"],
  ["./a.gguf?download=1", "a.gguf"],
])("the model at %s is called %s", (source, name) => expect(modelName(source)).toBe(name));

test("files of this device are called by their folder, or by the only one's name", () => {
  const inFolder = (path: string) => Object.defineProperty(new File([], "x"), "webkitRelativePath", { value: path });
  const alone = inFolder("");
  Object.defineProperty(alone, "name", { value: "tiny.gguf" });
  expect(modelName([inFolder("tiny/config.json"), inFolder("tiny/model.safetensors")])).toBe("tiny");
  expect(modelName([alone])).toBe("tiny.gguf");
  expect(modelName([alone, alone])).toBe("2 files");
  expect(modelName({ kind: "directory", name: "tiny" } as FileSystemDirectoryHandle)).toBe("tiny"); // Node has none
});
