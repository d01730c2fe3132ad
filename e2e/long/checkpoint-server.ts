/** A llama-shaped model with 1 GiB of bf16 weights, which are made while they are sent and are nowhere whole. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import { joinSafetensors } from "../../src/testing/make-safetensors";
import { chain, scriptedCheckpoint } from "../../src/testing/scripted-checkpoint";

const [HIDDEN, INTERMEDIATE, VOCABULARY, LAYERS] = [1024, 4096, 131_072, 16] as const;
const PATTERN_BYTES = 2 ** 20;

type Entry = [name: string, shape: readonly number[]];

function tensors(): Entry[] {
  const layer = (index: number): Entry[] => {
    const name = (part: string) => `model.layers.${index}.${part}.weight`;
    return [
      ...["q_proj", "k_proj", "v_proj", "o_proj"].map((part): Entry => [name(`self_attn.${part}`), [HIDDEN, HIDDEN]]),
      ...["gate_proj", "up_proj"].map((part): Entry => [name(`mlp.${part}`), [INTERMEDIATE, HIDDEN]]),
      [name("mlp.down_proj"), [HIDDEN, INTERMEDIATE]],
      [name("input_layernorm"), [HIDDEN]],
      [name("post_attention_layernorm"), [HIDDEN]],
    ];
  };
  return [
    ["model.embed_tokens.weight", [VOCABULARY, HIDDEN]],
    ...Array.from({ length: LAYERS }, (_, index) => layer(index)).flat(),
    ["model.norm.weight", [HIDDEN]],
    ["lm_head.weight", [VOCABULARY, HIDDEN]],
  ];
}

/** bf16 values of about ±0.01 to ±0.03, from a linear congruential generator. */
function pattern(): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length: PATTERN_BYTES }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return i % 2 === 0 ? state >>> 24 : state >>> 31 === 0 ? 0x3c : 0xbc;
  });
}

function header(): { bytes: Uint8Array; sizeBytes: number } {
  let at = 0;
  const entries = tensors().map(([name, shape]) => {
    const sizeBytes = 2 * shape.reduce((product, dimension) => product * dimension, 1);
    const entry = { dtype: "BF16", shape, data_offsets: [at, at + sizeBytes] };
    at += sizeBytes;
    return [name, entry];
  });
  const bytes = joinSafetensors(Object.fromEntries(entries));
  return { bytes, sizeBytes: bytes.length + at };
}

/** config.json and tokenizer.json: those of a small model of the same kind, with the sizes of this one. */
function jsonFiles(): Map<string, Uint8Array> {
  const small = scriptedCheckpoint({ pieces: ["<|end|>", "<|go|>", "a"], size: 32, table: chain(3) });
  const config = JSON.parse(new TextDecoder().decode(small.get("config.json"))) as object; // written by us
  const sizes = {
    hidden_size: HIDDEN,
    intermediate_size: INTERMEDIATE,
    vocab_size: VOCABULARY,
    num_hidden_layers: LAYERS,
    num_attention_heads: 16,
    num_key_value_heads: 16,
    head_dim: HIDDEN / 16,
    max_position_embeddings: 128,
    torch_dtype: "bfloat16",
  };
  return new Map([
    ["config.json", new TextEncoder().encode(JSON.stringify({ ...config, ...sizes }))],
    ["tokenizer.json", small.get("tokenizer.json") ?? new Uint8Array()],
  ]);
}

/** Serves the model's files from any folder, with Range; `sizeBytes` is that of the weights. */
export async function serveCheckpoint(): Promise<{ url: string; sizeBytes: number; close(): Promise<void> }> {
  const json = jsonFiles();
  const { bytes: head, sizeBytes } = header();
  const values = pattern();

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
