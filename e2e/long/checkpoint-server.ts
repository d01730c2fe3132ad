/** Llama-shaped models with 1 GiB of 16-bit weights, which are made while they are sent and are nowhere whole. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import { joinSafetensors } from "../../src/testing/make-safetensors";
import { chain, scriptedCheckpoint } from "../../src/testing/scripted-checkpoint";

const PATTERN_BYTES = 2 ** 20;

export interface Shape {
  dtype: "BF16" | "F16";
  hidden: number;
  intermediate: number;
  vocabulary: number;
  layers: number;
  heads: number;
  keyValueHeads: number;
  tied: boolean;
}

/** Long rows and as many keys as queries. */
export const WIDE: Shape = {
  ...{ dtype: "BF16", hidden: 1024, intermediate: 4096, vocabulary: 131_072 },
  ...{ layers: 16, heads: 16, keyValueHeads: 16, tied: false },
};

/** SmolLM2-360M's sizes, in half floats and with 50 layers instead of its 32. */
export const SMOLLM2: Shape = {
  ...{ dtype: "F16", hidden: 960, intermediate: 2560, vocabulary: 49_152 },
  ...{ layers: 50, heads: 15, keyValueHeads: 5, tied: true },
};

type Entry = [name: string, shape: readonly number[]];

function tensors({ hidden, intermediate, vocabulary, layers, heads, keyValueHeads, tied }: Shape): Entry[] {
  const keys = (hidden / heads) * keyValueHeads;
  const layer = (index: number): Entry[] => {
    const name = (part: string) => `model.layers.${index}.${part}.weight`;
    return [
      ...["q_proj", "o_proj"].map((part): Entry => [name(`self_attn.${part}`), [hidden, hidden]]),
      ...["k_proj", "v_proj"].map((part): Entry => [name(`self_attn.${part}`), [keys, hidden]]),
      ...["gate_proj", "up_proj"].map((part): Entry => [name(`mlp.${part}`), [intermediate, hidden]]),
      [name("mlp.down_proj"), [hidden, intermediate]],
      [name("input_layernorm"), [hidden]],
      [name("post_attention_layernorm"), [hidden]],
    ];
  };
  return [
    ["model.embed_tokens.weight", [vocabulary, hidden]],
    ...Array.from({ length: layers }, (_, index) => layer(index)).flat(),
    ["model.norm.weight", [hidden]],
    ...(tied ? [] : [["lm_head.weight", [vocabulary, hidden]] satisfies Entry]),
  ];
}

/** Values of about ±0.01 to ±0.03, from a linear congruential generator. */
function pattern(dtype: Shape["dtype"]): Uint8Array {
  const [plus, minus] = dtype === "BF16" ? [0x3c, 0xbc] : [0x24, 0xa4];
  let state = 1;
  return Uint8Array.from({ length: PATTERN_BYTES }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return i % 2 === 0 ? state >>> 24 : state >>> 31 === 0 ? plus : minus;
  });
}

function header(shape: Shape): { bytes: Uint8Array; sizeBytes: number } {
  let at = 0;
  const entries = tensors(shape).map(([name, dimensions]) => {
    const sizeBytes = 2 * dimensions.reduce((product, dimension) => product * dimension, 1);
    const entry = { dtype: shape.dtype, shape: dimensions, data_offsets: [at, at + sizeBytes] };
    at += sizeBytes;
    return [name, entry];
  });
  const bytes = joinSafetensors(Object.fromEntries(entries));
  return { bytes, sizeBytes: bytes.length + at };
}

/** config.json and tokenizer.json: those of a small model of the same kind, with the sizes of this one. */
function jsonFiles(shape: Shape): Map<string, Uint8Array> {
  const small = scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>", "a"], size: 32, table: chain(3) });
  const config = JSON.parse(new TextDecoder().decode(small.get("config.json"))) as object; // written by us
  const sizes = {
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    vocab_size: shape.vocabulary,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.keyValueHeads,
    head_dim: shape.hidden / shape.heads,
    max_position_embeddings: 128,
    tie_word_embeddings: shape.tied,
    torch_dtype: shape.dtype === "BF16" ? "bfloat16" : "float16",
  };
  return new Map([
    ["config.json", new TextEncoder().encode(JSON.stringify({ ...config, ...sizes }))],
    ["tokenizer.json", small.get("tokenizer.json") ?? new Uint8Array()],
  ]);
}

/** Serves the model's files from any folder, with Range; `sizeBytes` is that of the weights. */
export async function serveCheckpoint(
  shape: Shape,
): Promise<{ url: string; sizeBytes: number; close(): Promise<void> }> {
  const json = jsonFiles(shape);
  const { bytes: head, sizeBytes } = header(shape);
  const values = pattern(shape.dtype);

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const name = (request.url ?? "").split("/").at(-1) ?? "";
    const small = json.get(name);
    const size = small ? small.length : name === "model.safetensors" ? sizeBytes : undefined;
    if (size === undefined) {
      response.writeHead(404).end();
      return;
    }
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const start = Number(from ?? 0);
    const end = to ? Math.min(Number(to) + 1, size) : size;
    response.writeHead(from === undefined ? 200 : 206, {
      "content-length": end - start,
      ...(from === undefined ? {} : { "content-range": `bytes ${start}-${end - 1}/${size}` }),
    });
    if (request.method === "HEAD") response.end();
    else await pipeline(small ? [small.subarray(start, end)] : weights(start, end), response);
  }

  function* weights(start: number, end: number) {
    for (let at = start; at < end;) {
      const from = (at - head.length) % PATTERN_BYTES; // the data begin at an even place, as the pattern does
      const part = at < head.length ? head.subarray(at, end) : values.subarray(from, from + end - at);
      yield part;
      at += part.length;
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()); // the reader left
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  return {
    url: `http://127.0.0.1:${port}/`,
    sizeBytes,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
