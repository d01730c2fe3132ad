// Puts a model of the hub under public/models/, for use without a network: `npm run fetch-model -- org/name[@revision]`.
// A file that is there with the right hash is left alone; one that is there in part is gone on with.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { runnerImport } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));

const USAGE = `npm run fetch-model -- org/name[@revision][/file.gguf] [--endpoint https://huggingface.co] [--to folder]

Writes to public/models/<name>. HF_TOKEN in the environment is sent to the endpoint, if it is set.`;

/** Everything a folder with safetensors is read from; weights in other formats, and pictures, stay where they are. */
const SMALL_FILES = new Set([
  "config.json",
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "chat_template.jinja",
  "model.safetensors.index.json",
]);

/**
 * @param {string[]} names all files of the model
 * @param {string | undefined} chosen a file that the source names: then that one alone, or all its parts
 */
export function neededFiles(names, chosen) {
  if (chosen !== undefined) {
    const [, stem, , total] = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i.exec(chosen) ?? [];
    const isPart = (name) => name.startsWith(`${stem}-`) && name.toLowerCase().endsWith(`-of-${total}.gguf`);
    return names.filter((name) => name === chosen || (stem !== undefined && isPart(name)));
  }
  return names.filter((name) => SMALL_FILES.has(name) || /^model(-\d+-of-\d+)?\.safetensors$/.test(name));
}

/**
 * @param {object} options
 * @param {string} options.source "org/name[@revision][/file.gguf]", with or without "hf:"
 * @param {string} options.into the folder that gets a folder named as the model
 * @param {string} [options.endpoint]
 * @param {string} [options.token]
 * @param {(line: string) => void} options.log
 * @returns {Promise<string>} what to load: the model's folder, or the named file in it
 */
export async function fetchModel({ source, into, endpoint, token, log }) {
  const { openHub, parseHubSource } = await importSource("src/storage/hub.ts");
  const repository = parseHubSource(source.startsWith("hf:") ? source : `hf:${source}`);
  const hub = openHub(repository, { endpoint, token });
  const { commit, files } = await hub.listing();
  const names = neededFiles(Object.keys(files), repository.file);
  if (!names.some((name) => /\.(safetensors|gguf)$/i.test(name))) {
    const gguf = Object.keys(files).filter((name) => /\.gguf$/i.test(name));
    const choice = gguf.length > 0 ? ` Its GGUF files, one of which can be named: ${gguf.join(", ")}` : "";
    throw new Error(`${repository.name} has no ${repository.file ?? "model.safetensors"}.${choice}`);
  }
  const folder = join(into, repository.name.split("/")[1]);
  await mkdir(folder, { recursive: true });
  log(`${repository.name} at ${commit}, to ${folder}`);
  for (const name of names) {
    const file = await hub.find(name);
    await fetchFile(file, join(folder, name.split("/").at(-1)), log);
  }
  return repository.file === undefined ? folder : join(folder, repository.file.split("/").at(-1));
}

/** Streams to a .part file, which gets its name when all has come and the hash is right. */
async function fetchFile(file, path, log) {
  const { name, sizeBytes, sha256 } = file;
  if (existsSync(path)) {
    const has = await hashOfFile(path);
    const isSame = sha256 === undefined ? (await stat(path)).size === sizeBytes : has.digest("hex") === sha256;
    if (isSame) return log(`  ${name}: there already`);
  }
  // Another state of the file has another part, so that two are never mixed.
  const part = `${path}.${(file.validator ?? "").replace(/[^\w]/g, "").slice(0, 16)}.part`;
  let start = existsSync(part) ? (await stat(part)).size : 0;
  if (sizeBytes !== undefined && start > sizeBytes) start = 0;
  const hash = start > 0 ? await hashOfFile(part) : createHash("sha256");
  const output = createWriteStream(part, start > 0 ? { flags: "a" } : {});
  let bytes = start;
  if (start > 0) log(`  ${name}: goes on at ${mib(start)}`);
  try {
    for await (const chunk of await file.stream({ start })) {
      hash.update(chunk);
      bytes += chunk.length;
      if (!output.write(Buffer.from(chunk))) await once(output, "drain"); // a copy: the chunk's memory is used again
    }
  } finally {
    output.end();
    await once(output, "close");
  }
  const found = hash.digest("hex");
  const isWrong = (sha256 !== undefined && found !== sha256) || (sizeBytes !== undefined && bytes !== sizeBytes);
  if (isWrong) {
    await rm(part);
    throw new Error(
      `${name}: ${bytes} bytes with SHA-256 ${found}; the hub says ${sizeBytes} and ${sha256}. Try again.`,
    );
  }
  await rename(part, path);
  log(`  ${name}: ${mib(bytes)}${sha256 === undefined ? "" : ", hash checked"}`);
}

async function hashOfFile(path) {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash;
}

function mib(bytes) {
  return bytes < 2 ** 20 ? `${bytes} bytes` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

/** The library's own sources, as they are. */
async function importSource(path) {
  const { module } = await runnerImport(join(root, path), { root, configFile: false, logLevel: "error" });
  return module;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { endpoint: { type: "string" }, to: { type: "string" }, help: { type: "boolean" } },
  });
  const [source] = positionals;
  if (source === undefined || positionals.length > 1 || values.help === true) {
    console.log(USAGE);
    process.exitCode = values.help === true ? 0 : 1;
  } else {
    try {
      const into = values.to ?? join(root, "public/models");
      const path = await fetchModel({
        source,
        into,
        endpoint: values.endpoint,
        token: process.env.HF_TOKEN || undefined,
        log: (line) => console.log(line),
      });
      console.log(values.to === undefined ? `Load it as models/${relative(into, path)}` : `It is in ${path}`);
    } catch (error) {
      console.error(error.message, error.remedy ?? "");
      process.exitCode = 1;
    }
  }
}
