/**
 * Files that are broken in every way we could think of, from a real server through the public API: each ends in an error
 * that names the file, soon, with little memory, and with nothing left in storage.
 */
import { existsSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { TextGenerator, WordloomError, type WordloomErrorCode } from "../index";
import { at } from "../testing/at";
import { cuttingServer, type CuttingServer } from "../testing/cutting-server";
import { editGguf } from "../testing/edit-gguf";
import { goldenFolder } from "../testing/golden-models";
import type { MadeTensor, MadeValue } from "../testing/make-gguf";
import { joinSafetensors } from "../testing/make-safetensors";
import { memoryPeak, type MemoryPeak } from "../testing/memory-peak";
import { memoryStorage, type MemoryStorage } from "../testing/memory-storage";
import { chain, scriptedCheckpoint } from "../testing/scripted-checkpoint";
import { ModelStore } from "./model-store";

const MAX_MS = 2000;
const MAX_GROWTH_BYTES = 100 * 2 ** 20;

/** Milliseconds that this thread has waited for a processor: those are the machine's, not ours. 0 where nobody tells. */
function waitedMs(): number {
  const path = "/proc/thread-self/schedstat"; // "ran waited slices", in nanoseconds
  return existsSync(path) ? Number(readFileSync(path, "utf8").split(" ")[1]) / 1e6 : 0;
}

type Files = Record<string, Uint8Array>;
interface Broken {
  files: Files;
  /** The file that the error names. */
  file: string;
  code: WordloomErrorCode;
  /** More of the message. */
  says: RegExp;
  /** How the server answers for that file, if not as servers do. */
  answer?: (response: ServerResponse, isHead: boolean) => void;
}
type Rows = readonly (readonly [string, Broken])[];

const WEIGHTS = "model.safetensors";
const INDEX = "model.safetensors.index.json";
const CONFIG = "config.json";
const TOKENIZER = "tokenizer.json";
const GGUF = "model.gguf";
const SIZE = 32;

const text = (content: string) => new TextEncoder().encode(content);
const NOT_UTF8 = Uint8Array.of(0xff, 0xfe, 0x80);
const DEEP = text("[".repeat(4_000_000));
const WEB_PAGE = text("<!doctype html><html><body>Sign in</body></html>");

const whole: Files = Object.fromEntries(
  scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>", "a"], size: SIZE, table: chain(3) }),
);
const fileOf = (name: string) => whole[name] ?? new Uint8Array();
const weights = fileOf(WEIGHTS);
const gguf = new Uint8Array(readFileSync(`${goldenFolder("llama")}model-F32.gguf`));

/** `bytes` with others from `position` on. */
function patched(bytes: Uint8Array, position: number, patch: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  copy.set(patch, position);
  return copy;
}
const u32 = (value: number) => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: bigint) => new Uint8Array(BigUint64Array.of(value).buffer);

function replacedIn(bytes: Uint8Array, from: string, to: Uint8Array): Uint8Array {
  const position = Buffer.from(bytes).indexOf(from);
  if (position < 0) throw new Error(`there is no ${from}`);
  return patched(bytes, position, to);
}

// Rows of each kind of file.

const broken = (file: string, content: Uint8Array, code: WordloomErrorCode, says: RegExp, others: Files = whole) => ({
  files: { ...others, [file]: content },
  file,
  code,
  says,
});

type Header = Record<string, { dtype: string; shape: number[]; data_offsets: number[] }>;
const dataStart = 8 + Number(new DataView(weights.buffer).getBigUint64(0, true));
const data = weights.subarray(dataStart);
/** The weights under a header that says something else. */
function withHeader(change: (header: Header, last: Header[string]) => unknown): Uint8Array {
  const header = JSON.parse(new TextDecoder().decode(weights.subarray(8, dataStart))) as Header; // written by us
  const last = header["lm_head.weight"];
  if (last === undefined) throw new Error("there is no lm_head.weight");
  return joinSafetensors(change(header, last) ?? header, [data]);
}
const badWeights = (content: Uint8Array, says: RegExp, code: WordloomErrorCode = "file-invalid") =>
  broken(WEIGHTS, content, code, says);

const SAFETENSORS: Rows = [
  ["safetensors cut in its data", badWeights(weights.subarray(0, -100), /truncated: tensor .* ends at byte/)],
  ["safetensors cut in its header", badWeights(weights.subarray(0, 200), /truncated: 200 bytes/)],
  ["safetensors of five bytes", badWeights(weights.subarray(0, 5), /5 bytes cannot be/)],
  [
    "safetensors whose header claims 2^63 bytes",
    badWeights(patched(weights, 0, u64(2n ** 63n)), /9223372036854775808/),
  ],
  [
    "safetensors whose header claims more than the file has",
    badWeights(patched(weights, 0, u64(90_000_000n)), /90000008/),
  ],
  [
    "safetensors whose header claims 90 MB, of a size nobody states",
    {
      ...badWeights(patched(weights, 0, u64(90_000_000n)), /the header needs 90000008 bytes/),
      answer: (response, isHead) =>
        void (isHead ? response.end() : response.end(patched(weights, 0, u64(90_000_000n)))),
    },
  ],
  [
    "safetensors with a tensor inside another",
    badWeights(
      withHeader((_, last) => void (last.data_offsets = last.data_offsets.map((offset) => offset - 8))),
      /lm_head.weight begins at byte .*, inside/,
    ),
  ],
  [
    "safetensors with a hole",
    badWeights(
      joinSafetensors(
        {
          ...JSON.parse(new TextDecoder().decode(weights.subarray(8, dataStart))),
          more: { dtype: "U8", shape: [1], data_offsets: [data.length + 7, data.length + 8] },
        },
        [data, new Uint8Array(8)],
      ),
      /7 bytes between .* belong to nothing/,
    ),
  ],
  [
    "safetensors with bytes after the end",
    badWeights(
      joinSafetensors(JSON.parse(new TextDecoder().decode(weights.subarray(8, dataStart))), [data, new Uint8Array(9)]),
      /describes only/,
    ),
  ],
  [
    "safetensors whose shape needs more than it has",
    badWeights(
      withHeader((_, last) => void (last.shape = [SIZE, SIZE + 1])),
      /lm_head.weight: F32 \[32,33\] needs 4224 bytes/,
    ),
  ],
  [
    "safetensors whose shape cannot be counted",
    badWeights(
      withHeader((_, last) => void (last.shape = [2 ** 53 - 1, 2 ** 53 - 1])),
      /lm_head.weight/,
    ),
  ],
  [
    "safetensors with 25,000 tensors",
    badWeights(
      joinSafetensors(
        Object.fromEntries(
          Array.from({ length: 25_000 }, (_, i) => [`t${i}`, { dtype: "U8", shape: [0], data_offsets: [0, 0] }]),
        ),
      ),
      /25000 tensors/,
    ),
  ],
  [
    "safetensors with a name twice",
    badWeights(replacedIn(weights, "layers.0.mlp.gate_proj", text("layers.0.mlp.down_proj")), /twice/),
  ],
  ["safetensors whose header is not UTF-8", badWeights(patched(weights, 20, NOT_UTF8), /not UTF-8/)],
  ["safetensors whose header is not JSON", badWeights(patched(weights, 9, text("'")), /not JSON/)],
  [
    "safetensors whose header is four million brackets deep",
    badWeights(joinSafetensors(`{"a":${"[".repeat(4_000_000)}`), /more than 3 deep/),
  ],
  [
    "safetensors of whole numbers",
    badWeights(
      withHeader((_, last) => void (last.dtype = "I32")),
      /lm_head.weight is held as I32/,
      "model-unsupported",
    ),
  ],
  [
    "safetensors with a weight that is NaN",
    badWeights(patched(weights, weights.length - 4, u32(0x7fc00000)), /lm_head.weight\[31, 31\] is NaN/),
  ],
  [
    "safetensors with a weight that is infinite",
    badWeights(patched(weights, weights.length - 4, u32(0xff800000)), /is -Infinity/),
  ],
  [
    "safetensors with a matrix of other sizes",
    badWeights(
      withHeader((_, last) => void (last.shape = [SIZE / 2, 2 * SIZE])),
      /lm_head.weight is \[16, 64\]/,
      "tensor-mismatch",
    ),
  ],
  [
    "safetensors without a tensor",
    badWeights(
      replacedIn(weights, "layers.0.mlp.gate_proj", text("layers.0.mlp.hate_proj")),
      /gate_proj.weight is not in/,
      "tensor-missing",
    ),
  ],
  [
    "safetensors of which less comes than was said",
    {
      ...badWeights(weights, /ended at byte \d+, before \d+/),
      answer: (response, isHead) => {
        response.writeHead(200, isHead ? { "Content-Length": weights.length } : {});
        response.end(isHead ? undefined : weights.subarray(0, -100));
      },
    },
  ],
  ["a web page in place of safetensors", badWeights(WEB_PAGE, /HTML page/)],
];

const names = Object.keys(JSON.parse(new TextDecoder().decode(weights.subarray(8, dataStart))) as Header);
const index = (shard: string, other: Record<string, string> = {}) =>
  text(
    JSON.stringify({
      metadata: {},
      weight_map: { ...Object.fromEntries(names.map((name) => [name, shard])), ...other },
    }),
  );
const badIndex = (content: Uint8Array, says: RegExp, code: WordloomErrorCode = "file-invalid") =>
  broken(INDEX, content, code, says);

const INDEXES: Rows = [
  ["an index cut off", badIndex(index(WEIGHTS).subarray(0, -10), /not JSON/)],
  ["an index without a list", badIndex(text("{}"), /weight_map/)],
  ["an index that names a file elsewhere", badIndex(index("../../other/model.safetensors"), /not a file name/)],
  [
    "an index that names a file that is not there",
    badIndex(index("model-1.safetensors"), /model-1.safetensors is missing/, "tensor-missing"),
  ],
  [
    "an index that lists a tensor where it is not",
    {
      ...badIndex(new Uint8Array(), /lm_head.weight is not in b.safetensors/, "tensor-missing"),
      files: {
        ...whole,
        [INDEX]: index(WEIGHTS, { "lm_head.weight": "b.safetensors" }),
        "b.safetensors": replacedIn(weights, "lm_head", text("lm_hand")),
      },
    },
  ],
  [
    "an index of a part that is cut off",
    {
      ...badIndex(index("part.safetensors"), /truncated/),
      files: { ...whole, [INDEX]: index("part.safetensors"), "part.safetensors": weights.subarray(0, -1) },
      file: "part.safetensors",
    },
  ],
];

const config = JSON.parse(new TextDecoder().decode(fileOf(CONFIG))) as Record<string, unknown>;
const withConfig = (change: object) => text(JSON.stringify({ ...config, ...change }));
const badConfig = (content: Uint8Array, says: RegExp, code: WordloomErrorCode = "file-invalid") =>
  broken(CONFIG, content, code, says);

const CONFIGS: Rows = [
  ["config.json cut off", badConfig(fileOf(CONFIG).subarray(0, -5), /not JSON/)],
  ["config.json that is not UTF-8", badConfig(patched(fileOf(CONFIG), 4, NOT_UTF8), /not UTF-8/)],
  ["config.json four million brackets deep", badConfig(DEEP, /more than 64 deep/)],
  ["a web page in place of config.json", badConfig(WEB_PAGE, /HTML page/)],
  [
    "config.json with a thousand million layers",
    badConfig(withConfig({ num_hidden_layers: 1e9 }), /num_hidden_layers/, "config-invalid"),
  ],
  [
    "config.json with sizes that the weights do not have",
    {
      ...badConfig(
        withConfig({ vocab_size: 2 ** 22, hidden_size: 2 ** 15, max_position_embeddings: 2 ** 24 }),
        /embed_tokens/,
        "tensor-mismatch",
      ),
      file: WEIGHTS,
    },
  ],
  [
    "config.json said to be of 3 GB",
    {
      ...badConfig(new Uint8Array(), /3000000000 bytes/),
      answer: (response) => void response.writeHead(200, { "Content-Length": 3_000_000_000 }).end(),
    },
  ],
  [
    "config.json without an end",
    {
      ...badConfig(new Uint8Array(), /or more bytes/),
      answer: (response, isHead) => {
        if (isHead) return void response.end();
        const piece = new Uint8Array(65_536).fill(0x20);
        const more = () => {
          while (response.writable && response.write(piece));
        };
        response.on("drain", more);
        more();
      },
    },
  ],
];

const tokenizer = JSON.parse(new TextDecoder().decode(fileOf(TOKENIZER))) as { model: object };
const badTokenizer = (content: Uint8Array, says: RegExp) => broken(TOKENIZER, content, "file-invalid", says);
const withModel = (change: object) => text(JSON.stringify({ ...tokenizer, model: { ...tokenizer.model, ...change } }));

const TOKENIZERS: Rows = [
  ["tokenizer.json cut off", badTokenizer(fileOf(TOKENIZER).subarray(0, -50), /not JSON/)],
  ["tokenizer.json that is not UTF-8", badTokenizer(patched(fileOf(TOKENIZER), 2, NOT_UTF8), /not UTF-8/)],
  ["tokenizer.json four million brackets deep", badTokenizer(DEEP, /more than 64 deep/)],
  [
    "tokenizer.json whose ids are beyond any vocabulary",
    badTokenizer(withModel({ vocab: { a: 2 ** 31 - 1 } }), /an id 2147483647/),
  ],
  [
    "tokenizer.json whose merges name no pieces",
    badTokenizer(withModel({ merges: [["nothing", "at all"]] }), /merges/),
  ],
];

const badGguf = (content: Uint8Array, says: RegExp, code: WordloomErrorCode = "file-invalid") =>
  broken(GGUF, content, code, says, {});
const VERSION = 4;
const TENSOR_COUNT = 8;
const KEY_COUNT = 16;
const FIRST_KEY = 24;
/** Version 2 says everything as version 3 does. */
const v2 = patched(gguf, VERSION, u32(2));
const withTensors = (change: (tensor: MadeTensor, i: number, all: readonly MadeTensor[]) => Partial<MadeTensor>) =>
  editGguf(gguf, {}, (all) => all.map((tensor, i) => ({ ...tensor, ...change(tensor, i, all) })));
const ofTensor = (name: string, change: (tensor: MadeTensor) => Partial<MadeTensor>) =>
  withTensors((tensor) => (tensor.name === name ? change(tensor) : {}));
const withKeys = (changes: Record<string, MadeValue | undefined>) => editGguf(gguf, changes);
/** Position of the length of the list, behind its key, the types of list and items. */
const tokensAt = Buffer.from(gguf).indexOf("tokenizer.ggml.tokens") + "tokenizer.ggml.tokens".length;
/** Position of a vector's place: behind its name, its rank, one dimension, its type. */
const offsetAt = (vector: string) => Buffer.from(gguf).indexOf(vector) + vector.length + 4 + 8 + 4;
const nanBlocks = (count: number) => Uint8Array.from({ length: count * 34 }, (_, i) => (i % 34 === 1 ? 0x7e : 0));

const GGUFS: Rows = [
  ["GGUF of version 1", badGguf(patched(gguf, VERSION, u32(1)), /version 1; versions 2 and 3/, "model-unsupported")],
  ["GGUF of version 4000", badGguf(patched(gguf, VERSION, u32(4000)), /version 4000/, "model-unsupported")],
  [
    "GGUF in the other byte order",
    badGguf(patched(gguf, VERSION, u32(0x03000000)), /big-endian GGUF file \(version 3\)/, "model-unsupported"),
  ],
  ["GGUF cut in its metadata", badGguf(gguf.subarray(0, 700), /truncated|the file has 700/)],
  ["GGUF cut in its data", badGguf(gguf.subarray(0, -1), /truncated/)],
  ["GGUF of version 2 cut in its data", badGguf(v2.subarray(0, -1), /truncated/)],
  ["GGUF with 2^63 tensors", badGguf(patched(gguf, TENSOR_COUNT, u64(2n ** 63n)), /tensors; at most/)],
  ["GGUF of version 2 with 2^40 keys", badGguf(patched(v2, KEY_COUNT, u64(2n ** 40n)), /1099511627776 metadata keys/)],
  ["GGUF with a key of 2^40 bytes", badGguf(patched(gguf, FIRST_KEY, u64(2n ** 40n)), /a text of 1099511627776 bytes/)],
  [
    "GGUF with four million tokens that it does not have",
    badGguf(patched(gguf, tokensAt + 8, u64(4_000_000n)), /4000000 items of tokenizer.ggml.tokens need/),
  ],
  [
    "GGUF with four million tokens, of a size nobody states",
    {
      ...badGguf(patched(gguf, tokensAt + 8, u64(4_000_000n)), /./),
      answer: (response, isHead) =>
        void (isHead ? response.end() : response.end(patched(gguf, tokensAt + 8, u64(4_000_000n)))),
    },
  ],
  [
    "GGUF with lists inside lists",
    badGguf(
      withKeys({ deep: ["array", ["array", [["array", [["array", [["u8", [1]]]]]]]]] as unknown as MadeValue }),
      /arrays 3 deep/,
    ),
  ],
  ["GGUF with a key that is not UTF-8", badGguf(patched(gguf, FIRST_KEY + 8, NOT_UTF8), /not UTF-8/)],
  [
    "GGUF with a tensor inside another",
    badGguf(
      ofTensor("output_norm.weight", () => ({ offset: 32 })),
      /inside/,
    ),
  ],
  [
    "GGUF with a tensor between two places",
    badGguf(
      ofTensor("output_norm.weight", () => ({ offset: 7 })),
      /not aligned to 32/,
    ),
  ],
  [
    "GGUF with a tensor beyond its end",
    badGguf(patched(gguf, offsetAt("output_norm.weight"), u64(2n ** 40n)), /truncated/),
  ],
  [
    "GGUF with a tensor of 2^90 numbers",
    badGguf(
      ofTensor("token_embd.weight", () => ({ shape: [2 ** 30, 2 ** 30, 2 ** 30] })),
      /more elements than can be counted/,
    ),
  ],
  [
    "GGUF with a dimension of none",
    badGguf(
      ofTensor("token_embd.weight", () => ({ shape: [0, 96] })),
      /a dimension of 0/,
    ),
  ],
  [
    "GGUF with a type that is not known",
    badGguf(
      ofTensor("token_embd.weight", () => ({ type: 77 })),
      /is of type 77/,
      "model-unsupported",
    ),
  ],
  [
    "GGUF with a matrix of another type",
    badGguf(
      ofTensor("output_norm.weight", ({ shape }) => ({ type: 24, bytes: new Uint8Array(at(shape, 0)) })),
      /output_norm.weight is held as I8/,
      "model-unsupported",
    ),
  ],
  [
    "GGUF with scales that are NaN",
    badGguf(
      ofTensor("blk.0.attn_q.weight", ({ shape }) => ({
        type: 8,
        bytes: nanBlocks((at(shape, 0) * at(shape, 1)) / 32),
      })),
      /blk.0.attn_q.weight\[0, 0\] is NaN/,
    ),
  ],
  [
    "GGUF with a tensor twice",
    badGguf(
      ofTensor("blk.1.attn_q.weight", () => ({ name: "blk.0.attn_q.weight" })),
      /there twice/,
    ),
  ],
  [
    "GGUF with a key twice",
    badGguf(replacedIn(gguf, "ggml.bos_token_id", text("ggml.eos_token_id")), /eos_token_id is there twice/),
  ],
  ["GGUF aligned to 3", badGguf(withKeys({ "general.alignment": ["u32", 3] }), /general.alignment is 3/)],
  [
    "GGUF whose tokens are numbers",
    badGguf(
      withKeys({ "tokenizer.ggml.tokens": ["array", ["i32", [1, 2, 3]]] }),
      /tokenizer.ggml.tokens should be texts/,
    ),
  ],
  [
    "a Git LFS pointer in place of GGUF",
    badGguf(text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1007328\n"), /Git LFS pointer/),
  ],
];

describe("a file that is broken is told by its name, within 2 s and 100 MiB, and nothing of it stays", () => {
  const rows = [...SAFETENSORS, ...INDEXES, ...CONFIGS, ...TOKENIZERS, ...GGUFS];
  let server: CuttingServer;
  let place: MemoryStorage;
  let memory: MemoryPeak;
  beforeAll(async () => {
    memory = await memoryPeak();
  });
  afterAll(() => memory.close());
  beforeEach(async () => {
    server = await cuttingServer({});
    place = memoryStorage({ writes: "sync" });
    const storage = { getDirectory: () => Promise.resolve(place.root), estimate: place.estimate };
    Object.defineProperty(globalThis, "navigator", { value: { storage, locks: place.locks }, configurable: true });
  });
  afterEach(async () => {
    Reflect.deleteProperty(globalThis, "navigator");
    await server.close();
  });

  const load = (files: Files) => {
    for (const [name, bytes] of Object.entries(files)) server.files.set(name, { bytes });
    const source = GGUF in files ? `${server.url}${GGUF}` : server.url;
    return TextGenerator.load(source, { backend: "reference" });
  };

  test("what they are made from loads, and stays", async () => {
    for (const files of [whole, { [GGUF]: gguf }, { [GGUF]: v2 }]) {
      const generator = await load(files);
      expect(generator.info.storeReason).toBe("kept in this browser's storage");
      await generator.dispose();
      server.files.clear();
      place.contents.clear();
    }
  }, 60_000);

  test("there are more than thirty of them", () => {
    expect(new Set(rows.map(([name]) => name)).size).toBe(rows.length);
    expect(rows.length).toBeGreaterThan(30);
  });

  test.each(rows)(
    "%s",
    async (_, { files, file, code, says, answer }) => {
      if (answer !== undefined) {
        server.answer = (request, response, name) => {
          if (name === file) answer(response, request.method === "HEAD");
          return name === file;
        };
      }
      let error: unknown;
      const before = performance.now() - waitedMs();
      const growth = await memory.growthDuring(() =>
        load(files).then(
          () => undefined,
          (reason: unknown) => void (error = reason),
        ),
      );
      const ms = performance.now() - waitedMs() - before;
      expect(error).toBeInstanceOf(WordloomError);
      expect(error).toMatchObject({ code, message: expect.stringMatching(says) as unknown });
      expect((error as WordloomError).message).toContain(file);
      expect({ stored: await new ModelStore(place).list(), contents: [...place.contents.keys()] }).toEqual({
        stored: [],
        contents: [],
      });
      expect(ms).toBeLessThan(MAX_MS);
      expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
    },
    30_000,
  );
});
