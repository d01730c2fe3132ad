/** Instances of xgrammar: how its WebAssembly is compiled, and what it says when it fails. */
import { createModule, wasmBase64, type Xgrammar } from "@mlc-ai/web-xgrammar/lib/index.js";
import { WordloomError } from "../errors";

let compiled: Promise<WebAssembly.Module> | undefined;

/**
 * One instance. Where xgrammar ends by a failed check it is left as it was, memory and all, so it is of no more use then.
 */
export class XgrammarInstance {
  /** Whether a call has failed. */
  isBroken = false;

  private constructor(
    readonly module: Xgrammar,
    private readonly messages: string[],
  ) {}

  /** @throws WordloomError wasm-refused */
  static async open(): Promise<XgrammarInstance> {
    compiled ??= compile();
    const code = await compiled.catch((error: unknown) => {
      compiled = undefined;
      throw error;
    });
    const messages: string[] = [];
    const say = (line: string) => void messages.push(line);
    const module = await createModule({
      print: say,
      printErr: say,
      instantiateWasm: (imports, receive) => {
        void WebAssembly.instantiate(code, imports).then(receive);
        return {};
      },
    });
    return new XgrammarInstance(module, messages);
  }

  /** @returns what `use` gives, or why xgrammar refused */
  try<T>(use: (module: Xgrammar) => T): { value: T } | { refusal: string; cause: unknown } {
    this.messages.length = 0;
    try {
      return { value: use(this.module) };
    } catch (cause) {
      this.isBroken = true;
      const said = this.messages.find((line) => line.includes("[FATAL]")) ?? String(cause);
      return { refusal: said.replace(/^.*\.cc:\d+: /s, "").trim(), cause };
    }
  }
}

async function compile(): Promise<WebAssembly.Module> {
  if (typeof WebAssembly === "undefined") {
    throw new WordloomError("wasm-refused", "this browser has no WebAssembly, which structured output needs");
  }
  const bytes = Uint8Array.from(atob(wasmBase64), (char) => char.charCodeAt(0));
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    throw new WordloomError(
      "wasm-refused",
      `WebAssembly, which structured output needs, was refused: ${String(error)}`,
      {
        cause: error,
      },
    );
  }
}
