/** Every way a model can be wrong, by its code, its message and its next step, as a caller of TextGenerator meets it. */
import { describe, expect, test } from "vitest";
import { TextGenerator, WordloomError, type LoadOptions } from "../index";
import { joinSafetensors } from "../testing/make-safetensors";
import { chain, filesOf, scriptedCheckpoint } from "../testing/scripted-checkpoint";

type Folder = Map<string, Uint8Array<ArrayBuffer>>;

const SIZE = 32;
const WEIGHTS = "model.safetensors";
const HTML = text("<!doctype html><title>Not found</title>");

/** What a row of the table says of the error. */
interface Expected {
  code: string;
  /** Each is a part of the message: numbers and names. */
  says: readonly string[];
  remedy: string;
}

const DOWNLOAD_AGAIN = "Download the file again: it is truncated, or not what its name says.";

function text(content: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(content);
}

/** A model that works, changed in one way. */
function folder(change: (files: Folder) => void = () => {}): Folder {
  const files = scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>", "a"], size: SIZE, table: chain(3) });
  change(files);
  return files;
}

function fileOf(files: Folder, name: string): Uint8Array<ArrayBuffer> {
  const bytes = files.get(name);
  if (bytes === undefined) throw new Error(`the model has no ${name}`);
  return bytes;
}

/** config.json with other values; undefined removes a key. */
function withConfig(change: object): Folder {
  return folder((files) => {
    const config = JSON.parse(new TextDecoder().decode(fileOf(files, "config.json"))) as object; // written by us
    files.set("config.json", text(JSON.stringify({ ...config, ...change })));
  });
}

type Header = Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;

/** The weights under a header that `change` has made say something else; the bytes after it stay. */
function withHeader(change: (header: Header) => void): Folder {
  return folder((files) => {
    const bytes = fileOf(files, WEIGHTS);
    const dataStart = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, dataStart))) as Header; // written by us
    change(header);
    files.set(WEIGHTS, new Uint8Array(joinSafetensors(header, [bytes.subarray(dataStart)])));
  });
}

function entry(header: Header, name: string): Header[string] {
  const found = header[name];
  if (found === undefined) throw new Error(`the model has no ${name}`);
  return found;
}

const asFiles = (files: Folder, options: LoadOptions = {}) =>
  TextGenerator.load(filesOf(files), { backend: "reference", ...options });

/** From a server that has these files, and answers everything else with `missing`. */
function fromServer(files: Folder, missing: { status: number; body: Uint8Array<ArrayBuffer> | null }) {
  const fetch: typeof globalThis.fetch = (address, { method, headers } = {}) => {
    const name = new URL(address as string).pathname.split("/").at(-1) ?? ""; // the loader asks by string
    const bytes = files.get(name);
    const { status, body } = bytes ? { status: 200, body: bytes } : missing;
    const [, from = "0", to = ""] = /^bytes=(\d+)-(\d*)$/.exec(new Headers(headers).get("range") ?? "") ?? [];
    const part = body?.slice(Number(from), to === "" ? undefined : Number(to) + 1);
    const partial = bytes !== undefined && part !== undefined && part.length < bytes.length;
    return Promise.resolve(
      new Response(method === "HEAD" ? null : part, {
        status: partial ? 206 : status,
        headers: partial
          ? { "Content-Range": `bytes ${from}-${Number(from) + part.length - 1}/${bytes.length}` }
          : { "Content-Length": String(body?.length ?? 0) },
      }),
    );
  };
  return TextGenerator.load("https://models.example/tiny", { backend: "reference", fetch });
}

async function failureOf(promise: Promise<unknown>): Promise<WordloomError> {
  const error: unknown = await promise.then(
    () => new Error("nothing failed"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof WordloomError)) throw error;
  return error;
}

async function expectFailure(promise: Promise<unknown>, { code, says, remedy }: Expected) {
  const error = await failureOf(promise);
  expect({ code: error.code, remedy: error.remedy }).toEqual({ code, remedy });
  for (const part of says) expect(error.message).toContain(part);
}

test("the model that all of these are made from loads and writes, from File objects and from the server", async () => {
  for (const loading of [asFiles(folder()), fromServer(folder(), { status: 404, body: null })]) {
    const generator = await loading;
    expect(await generator.generate([1]).text()).toBe("a");
    await generator.dispose();
  }
});

describe("weights", () => {
  const wholeBytes = fileOf(folder(), WEIGHTS).length;

  test.each<[string, Folder, Expected]>([
    [
      "cut in the middle of the data",
      folder((files) => files.set(WEIGHTS, fileOf(files, WEIGHTS).slice(0, wholeBytes - 100))),
      { code: "file-invalid", says: [WEIGHTS, "truncated", `${wholeBytes - 100}`], remedy: DOWNLOAD_AGAIN },
    ],
    [
      "cut in the middle of the header",
      folder((files) => files.set(WEIGHTS, fileOf(files, WEIGHTS).slice(0, 200))),
      { code: "file-invalid", says: [WEIGHTS, "truncated", "200"], remedy: DOWNLOAD_AGAIN },
    ],
    [
      "that are empty",
      folder((files) => files.set(WEIGHTS, new Uint8Array())),
      { code: "file-invalid", says: [WEIGHTS, "0 bytes"], remedy: DOWNLOAD_AGAIN },
    ],
    [
      "whose header claims more than there is",
      withHeader((header) => (entry(header, "lm_head.weight").data_offsets[1] += 4)),
      {
        code: "file-invalid",
        says: ["lm_head.weight", `${4 * SIZE * SIZE}`, `${4 * SIZE * SIZE + 4}`],
        remedy: DOWNLOAD_AGAIN,
      },
    ],
    [
      "whose header claims more, shape and all",
      withHeader((header) => {
        const head = entry(header, "lm_head.weight");
        head.shape[0] = SIZE + 1;
        head.data_offsets[1] += 4 * SIZE;
      }),
      { code: "file-invalid", says: ["truncated", "lm_head.weight"], remedy: DOWNLOAD_AGAIN },
    ],
    [
      "whose header claims less than there is",
      withHeader((header) => delete header["lm_head.weight"]),
      { code: "file-invalid", says: ["describes only"], remedy: DOWNLOAD_AGAIN },
    ],
    [
      "whose header puts one tensor into another",
      withHeader((header) => {
        const [norm, head] = [entry(header, "model.norm.weight"), entry(header, "lm_head.weight")];
        head.data_offsets = [norm.data_offsets[0], norm.data_offsets[0] + 4 * SIZE * SIZE];
      }),
      { code: "file-invalid", says: ["model.norm.weight", "lm_head.weight", "inside"], remedy: DOWNLOAD_AGAIN },
    ],
    [
      "whose header is no JSON",
      folder((files) => files.set(WEIGHTS, new Uint8Array(joinSafetensors('{"a":')))),
      { code: "file-invalid", says: [WEIGHTS, "header"], remedy: DOWNLOAD_AGAIN },
    ],
    [
      "without one of the tensors",
      withHeader((header) => {
        header["model.other.weight"] = entry(header, "model.norm.weight");
        delete header["model.norm.weight"];
      }),
      {
        code: "tensor-missing",
        says: ["model.norm.weight", "12 tensors"],
        remedy: "Download the model again, or check that all its shards are present.",
      },
    ],
    [
      "with a tensor of another shape",
      withHeader((header) => (entry(header, "lm_head.weight").shape = [SIZE / 2, SIZE * 2])),
      {
        code: "tensor-mismatch",
        says: ["lm_head.weight", `[${SIZE / 2}, ${SIZE * 2}]`, `[${SIZE}, ${SIZE}]`],
        remedy: "The weights and config.json do not belong together; download both again.",
      },
    ],
    [
      "held in a dtype that is not read",
      withHeader((header) => {
        const head = entry(header, "lm_head.weight");
        [head.dtype, head.shape] = ["I32", [SIZE, SIZE]];
      }),
      {
        code: "model-unsupported",
        says: ["lm_head.weight", "I32", "BF16"],
        remedy: "Choose a checkpoint of the model in F32, F16 or BF16.",
      },
    ],
    [
      "that are a web page",
      folder((files) => files.set(WEIGHTS, HTML)),
      {
        code: "file-invalid",
        says: [WEIGHTS, "an HTML page"],
        remedy: "Check the address, and download the file itself.",
      },
    ],
    [
      "that are not there",
      folder((files) => files.delete(WEIGHTS)),
      {
        code: "model-not-found",
        says: [WEIGHTS, "2 given files"],
        remedy:
          "Check the address: a folder with config.json, tokenizer.json and model.safetensors, or a .gguf file, is expected there.",
      },
    ],
  ])("%s", (_, files, expected) => expectFailure(asFiles(files), expected));

  test("with a weight that is no number, by its place", () => {
    const files = folder((all) => {
      const bytes = fileOf(all, WEIGHTS);
      new DataView(bytes.buffer).setFloat32(bytes.length - 4, NaN, true); // the last of lm_head
    });
    return expectFailure(asFiles(files), {
      code: "file-invalid",
      says: [`lm_head.weight[${SIZE - 1}, ${SIZE - 1}]`, "NaN"],
      remedy: DOWNLOAD_AGAIN,
    });
  });
});

describe("config.json", () => {
  const OTHER_MODEL = "This setting changes the model's numbers and is not supported yet; choose another model.";

  test.each<[string, Folder, Expected]>([
    [
      "with a setting that is not known",
      withConfig({ attention_sink_size: 4 }),
      { code: "config-unsupported", says: ["attention_sink_size", "4"], remedy: OTHER_MODEL },
    ],
    [
      "with a known setting at a value that is not",
      withConfig({ rope_scaling: { rope_type: "proportional", factor: 2 } }),
      { code: "config-unsupported", says: ["proportional"], remedy: OTHER_MODEL },
    ],
    [
      "with a model_type that is not supported",
      withConfig({ model_type: "mamba" }),
      {
        code: "model-unsupported",
        says: ['"mamba"', "llama", "gpt2"],
        remedy: "Choose a model of a supported architecture; see README, “Models”.",
      },
    ],
    [
      "without a size",
      withConfig({ hidden_size: undefined }),
      {
        code: "config-invalid",
        says: ["hidden_size"],
        remedy: "Download the model's config.json again, or choose another model.",
      },
    ],
    [
      "with a size that is none",
      withConfig({ num_hidden_layers: -1 }),
      {
        code: "config-invalid",
        says: ["num_hidden_layers", "-1"],
        remedy: "Download the model's config.json again, or choose another model.",
      },
    ],
    [
      "that is cut off",
      folder((files) => files.set("config.json", fileOf(files, "config.json").slice(0, 50))),
      { code: "file-invalid", says: ["config.json", "50 characters"], remedy: DOWNLOAD_AGAIN },
    ],
    [
      "that is a web page",
      folder((files) => files.set("config.json", HTML)),
      {
        code: "file-invalid",
        says: ["config.json", "an HTML page"],
        remedy: "Check the address: the server answered with something else than the file.",
      },
    ],
    [
      "that is not there",
      folder((files) => files.delete("config.json")),
      {
        code: "source-unsupported",
        says: ["no config.json", "2 files"],
        remedy: "Choose a .gguf file, or the whole folder of a model: config.json, tokenizer.json, model.safetensors.",
      },
    ],
  ])("%s", (_, files, expected) => expectFailure(asFiles(files), expected));
});

describe("tokenizer.json", () => {
  test.each<[string, Folder, Expected]>([
    [
      "that is a web page",
      folder((files) => files.set("tokenizer.json", HTML)),
      {
        code: "file-invalid",
        says: ["tokenizer.json", "an HTML page"],
        remedy: "Check the address: the server answered with something else than the file.",
      },
    ],
    [
      "that is not there",
      folder((files) => files.delete("tokenizer.json")),
      {
        code: "model-not-found",
        says: ["tokenizer.json", "2 given files"],
        remedy:
          "Check the address: a folder with config.json, tokenizer.json and model.safetensors, or a .gguf file, is expected there.",
      },
    ],
    [
      "of a kind that is not read",
      folder((files) => files.set("tokenizer.json", text('{"model":{"type":"WordLevel","vocab":{}}}'))),
      {
        code: "tokenizer-unsupported",
        says: ["WordLevel"],
        remedy: "Choose a model with a tokenizer.json of a supported kind; see README, “Models”.",
      },
    ],
  ])("%s", (_, files, expected) => expectFailure(asFiles(files), expected));
});

describe("a server", () => {
  const CHECK_CONNECTION =
    "Check the connection and the address, and that the server allows this page (CORS); then load again.";

  test.each<[string, Parameters<typeof fromServer>, Expected]>([
    [
      "has no such folder",
      [new Map(), { status: 404, body: null }],
      {
        code: "model-not-found",
        says: ["config.json", "https://models.example/tiny/"],
        remedy:
          "Check the address: a folder with config.json, tokenizer.json and model.safetensors, or a .gguf file, is expected there.",
      },
    ],
    [
      "answers everything with its start page",
      [new Map(), { status: 200, body: HTML }],
      {
        code: "file-invalid",
        says: ["config.json", "https://models.example/tiny/", "an HTML page"],
        remedy: "Check the address: the server answered with something else than the file.",
      },
    ],
    [
      "has all but the weights, and a start page in their place",
      [folder((files) => files.delete(WEIGHTS)), { status: 200, body: HTML }],
      {
        code: "file-invalid",
        says: [WEIGHTS, "https://models.example/tiny/", "an HTML page"],
        remedy: "Check the address, and download the file itself.",
      },
    ],
    [
      "wants to know who asks",
      [new Map(), { status: 401, body: null }],
      {
        code: "access-denied",
        says: ["https://models.example/tiny/config.json", "401"],
        remedy: "Pass headers with a token that may read this model.",
      },
    ],
    [
      "is broken",
      [new Map(), { status: 503, body: null }],
      {
        code: "server-failed",
        says: ["https://models.example/tiny/config.json", "503"],
        remedy: "The fault is the server's: load again later, or take the model from another server.",
      },
    ],
  ])("%s", (_, server, expected) => expectFailure(fromServer(...server), expected));

  test("is not reached", () =>
    expectFailure(
      TextGenerator.load("https://models.example/tiny", {
        backend: "reference",
        fetch: () => Promise.reject(new TypeError("Failed to fetch")),
      }),
      {
        code: "network-failed",
        says: ["https://models.example/tiny/config.json", "Failed to fetch"],
        remedy: CHECK_CONNECTION,
      },
    ));
});

describe("the device", () => {
  test("has no WebGPU", () =>
    expectFailure(asFiles(folder(), { backend: "auto" }), {
      code: "webgpu-unavailable",
      says: ["WebGPU"],
      remedy:
        "Use a browser with WebGPU (Chrome or Edge 123+, Safari 26+) on https or localhost, or set allowReference for " +
        "small models.",
    }));
});

describe("a call", () => {
  const CORRECT_IT = "Correct or remove the named option; docs: README, “Options”.";
  const generator = asFiles(folder());

  test("with a prompt longer than the context", async () =>
    expectFailure((await generator).generate(Array<number>(600).fill(2)).text(), {
      code: "prompt-too-long",
      says: ["600", "512"],
      remedy: "Shorten the prompt, or load the model with a larger contextLength.",
    }));

  test.each<[string, object, Expected]>([
    [
      "with an option that is not known",
      { maxTokens: 5 },
      {
        code: "option-invalid",
        says: ['"maxTokens"'],
        remedy: expect.stringMatching(
          /^Remove it, or choose one of: .*maxNewTokens, .*temperature, .*signal\.$/,
        ) as string,
      },
    ],
    [
      "with an option that cannot be",
      { topP: 1.5 },
      { code: "option-invalid", says: ["topP", "1.5", "at most 1"], remedy: CORRECT_IT },
    ],
  ])("%s", async (_, options, expected) => expectFailure((await generator).generate([1], options).text(), expected));

  test.each<[string, object, Expected]>([
    [
      "to load with an option that is not known",
      { quantized: true },
      {
        code: "option-invalid",
        says: ['"quantized"'],
        remedy: expect.stringMatching(/^Remove it, or choose one of: dtype, kvDtype, /) as string,
      },
    ],
    [
      "to load with a dtype that there is none of",
      { dtype: "q5" },
      { code: "option-invalid", says: ["dtype", '"q5"', '"q4"'], remedy: CORRECT_IT },
    ],
    [
      "to load with more context than the model has",
      { contextLength: 513 },
      { code: "option-invalid", says: ["contextLength", "513", "512"], remedy: CORRECT_IT },
    ],
  ])("%s", (_, options, expected) => expectFailure(asFiles(folder(), options), expected));

  test("with a token that the model does not have", async () =>
    expectFailure((await generator).generate([1, SIZE]).text(), {
      code: "option-invalid",
      says: [`token id ${SIZE}`, `${SIZE - 1}`],
      remedy: CORRECT_IT,
    }));

  test("with messages, where the model has no template", async () =>
    expectFailure((await generator).generate([{ role: "user", content: "Hi" }]).text(), {
      code: "template-missing",
      says: ["chat template"],
      remedy: "Pass a string, or choose a model tuned for chat.",
    }));

  test("after the model was disposed of", async () => {
    const gone = await asFiles(folder());
    await gone.dispose();
    await expectFailure(gone.generate([1]).text(), {
      code: "disposed",
      says: ["disposed"],
      remedy: "Load the model again: this generator was disposed of.",
    });
  });
});
