/**
 * What Wordloom uses of `@mlc-ai/web-xgrammar` 0.1.27: its WebAssembly module and the classes within, as the plugin in
 * scripts/vite-plugins.ts takes them out of the package, whose own wrapper has one instance for good.
 */
declare module "@mlc-ai/web-xgrammar/lib/index.js" {
  /** Freed by `delete`. */
  interface Owned {
    delete(): void;
  }

  type IntVector = Owned & { readonly intVector: unique symbol };
  type StringVector = Owned & { readonly stringVector: unique symbol };
  type TokenizerInfo = Owned & { readonly tokenizerInfo: unique symbol };
  type Grammar = Owned & { readonly grammar: unique symbol };
  export type CompiledGrammar = Owned & { readonly compiledGrammar: unique symbol };

  interface GrammarCompiler extends Owned {
    CompileGrammar(grammar: Grammar): CompiledGrammar;
  }

  export interface GrammarMatcher extends Owned {
    AcceptToken(id: number, debugPrint: boolean): boolean;
    /** [ceil(vocabSize / 32)], bit i of word w for id 32 w + i. */
    GetNextTokenBitmask(vocabSize: number): IntVector;
    FindJumpForwardString(): string;
  }

  export interface Xgrammar {
    vecStringFromJSArray(strings: readonly Uint8Array[]): StringVector;
    vecIntFromJSArray(integers: readonly number[]): IntVector;
    vecIntToView(vector: IntVector): Int32Array;
    TokenizerInfo: new (
      vocabulary: StringVector,
      type: "RAW",
      vocabSize: number,
      stopIds: IntVector,
      prependsBlank: boolean,
    ) => TokenizerInfo;
    GrammarCompiler: new (info: TokenizerInfo, threads: 1, cache: boolean) => GrammarCompiler;
    Grammar: { FromEBNF: new (ebnf: string, root: string) => Grammar };
    GrammarMatcher: new (
      grammar: CompiledGrammar,
      stopIds: undefined,
      endsWithoutStop: boolean,
      maxRollback: number,
    ) => GrammarMatcher;
  }

  interface ModuleOptions {
    print(line: string): void;
    printErr(line: string): void;
    instantiateWasm(imports: WebAssembly.Imports, receive: (instance: WebAssembly.Instance) => void): object;
  }

  /** A new instance. */
  export function createModule(options: ModuleOptions): Promise<Xgrammar>;
  /** Of the compiled code, in base64. */
  export const wasmBase64: string;
}
