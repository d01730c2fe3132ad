/**
 * The one error class of Wordloom, with the closed list of codes.
 *
 * A message says what happened, in numbers; the remedy says what the person can do next.
 */

/** Every way in which Wordloom refuses or fails, with the default remedy for each. */
const REMEDIES = {
  "option-invalid": "Correct or remove the named option; docs: README, “Options”.",
  "prompt-too-long": "Shorten the prompt, or load the model with a larger contextLength.",
  "webgpu-unavailable":
    "Use a browser with WebGPU (Chrome or Edge 123+, Safari 26+) on https or localhost, or set allowReference for small models.",
  "device-lost": "Load the model again; if it happens repeatedly, choose a smaller model or context.",
  "device-limit": "Choose a smaller dtype (q8, q4), a shorter contextLength, or a smaller model.",
  "out-of-memory": "Close other tabs, choose q4, a shorter contextLength, or a smaller model.",
  "kernel-failed": "Please report this with the message; allowReference runs small models without the GPU.",
  "model-not-found":
    "Check the address: a folder with config.json, tokenizer.json and model.safetensors, or a .gguf file, is expected there.",
  "model-unsupported": "Choose a model of a supported architecture; see README, “Models”.",
  "config-invalid": "Download the model's config.json again, or choose another model.",
  "config-unsupported": "This setting changes the model's numbers and is not supported yet; choose another model.",
  "file-invalid": "Download the file again: it is truncated, or not what its name says.",
  "tensor-missing": "Download the model again, or check that all its shards are present.",
  "tensor-mismatch": "The weights and config.json do not belong together; download both again.",
  "tokenizer-unsupported": "Choose a model with a tokenizer.json of a supported kind; see README, “Models”.",
  "template-missing": "Pass a string, or choose a model tuned for chat.",
  "template-failed": "Check the messages' roles and their order; this model's template refuses them.",
  "tools-unsupported":
    "Leave out the tools, or choose a model whose chat template takes tools and whose calls are known; see README, “Tools and reasoning”.",
  "constraint-failed":
    "Loosen the constraint, or take back what bans tokens (bannedTokens, logitBias, logitsProcessor); then write again.",
  "answer-incomplete":
    "Raise maxNewTokens (or maxTimeMs), or give the constraint smaller bounds (maxLength, maxItems).",
  "wasm-refused":
    "Allow 'wasm-unsafe-eval' in the script-src of the page's Content-Security-Policy and of its scripts' (the worker's counts), or leave out the constraint.",
  "source-unsupported": "Pass a URL or path of a model folder or of a .gguf file, File objects, or a directory handle.",
  "network-failed":
    "Check the connection and the address, and that the server allows this page (CORS); then load again.",
  "cors-refused":
    "The server is there, but does not let pages of other sites read it: it has to send Access-Control-Allow-Origin; or put the model on the page's own server.",
  "rate-limited": "The server wants fewer requests: wait a while, then load again; a token may raise the limit.",
  "server-failed": "The fault is the server's: load again later, or take the model from another server.",
  "storage-failed":
    "Close other tabs of this site, then try again; or delete the site's data in the browser's settings.",
  "conversation-mismatch":
    "Load the model it was saved with, in the same dtype and kvDtype; or restore it with withoutCache: true, for its messages alone.",
  "access-denied": "Pass headers with a token that may read this model.",
  "worker-failed": "Load again; with worker: false the engine runs on the page's own thread.",
  disposed: "Load the model again: this generator was disposed of.",
  internal: "This is a fault of Wordloom; please report it with the message.",
} as const;

export type WordloomErrorCode = keyof typeof REMEDIES;

export interface WordloomErrorOptions {
  /** What the person can do next; default: the code's own remedy. */
  remedy?: string;
  cause?: unknown;
}

/** What Wordloom throws and rejects with; also crosses the worker border (see `toPlain` / `fromPlain`). */
export class WordloomError extends Error {
  readonly code: WordloomErrorCode;
  readonly remedy: string;

  constructor(code: WordloomErrorCode, message: string, options: WordloomErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "WordloomError";
    this.code = code;
    this.remedy = options.remedy ?? REMEDIES[code];
  }

  /** A structured-cloneable copy, for postMessage (which would drop `code` and `remedy`). */
  toPlain(): PlainWordloomError {
    return { code: this.code, message: this.message, remedy: this.remedy };
  }

  static fromPlain(plain: PlainWordloomError): WordloomError {
    return new WordloomError(plain.code, plain.message, { remedy: plain.remedy });
  }

  /** `error` itself if it is a WordloomError, else wrapped under `code` with its message kept and as `cause`. */
  static from(error: unknown, code: WordloomErrorCode = "internal"): WordloomError {
    if (error instanceof WordloomError) return error;
    return new WordloomError(code, error instanceof Error ? error.message : String(error), { cause: error });
  }
}

export interface PlainWordloomError {
  code: WordloomErrorCode;
  message: string;
  remedy: string;
}
