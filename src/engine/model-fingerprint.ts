/**
 * Tells models apart by their numbers, wherever their files come from: what one has computed must not be taken for what
 * another would. Settings, positions' frequencies, and rows of every tensor as they are held.
 */
import type { WeightSink } from "../backends/backend";
import type { DecoderSpec } from "../models/decoder-spec";
import { frequenciesFor } from "../models/rope-frequencies";
import { Sha256, sha256OfText } from "../storage/sha256";

/** Of each tensor the first row and each of this number after it: a thousandth of the bytes, so that loading is no slower. */
const ROW_STRIDE = 1024;

export class ModelFingerprint {
  readonly #spec: DecoderSpec;
  readonly #rows = new Map<string, Sha256>();

  constructor(spec: DecoderSpec) {
    this.#spec = spec;
  }

  /** A sink that looks at what it hands on. */
  around(sink: WeightSink): WeightSink {
    const { kept } = sink;
    return {
      kept: kept && {
        formatOf: (name) => kept.formatOf(name),
        write: (name, firstRow, rows, packed) => {
          const words = packed.quants.length / rows;
          this.#add(name, firstRow, rows, (row) => packed.quants.subarray(row * words, (row + 1) * words));
          kept.write(name, firstRow, rows, packed);
        },
      },
      write: (name, firstRow, values) => {
        const columns = this.#spec.tensors.find((tensor) => tensor.name === name)?.shape[1] ?? values.length;
        const rows = values.length / columns;
        this.#add(name, firstRow, rows, (row) => values.subarray(row * columns, (row + 1) * columns));
        sink.write(name, firstRow, values);
      },
      drained: () => sink.drained(),
    };
  }

  /** @param contextLength of which the frequencies of some models depend */
  hex(contextLength: number): string {
    const frequencies = this.#spec.layers.map(({ mixer }) =>
      mixer.kind === "attention" && mixer.rope ? [...frequenciesFor(mixer.rope, contextLength)] : [],
    );
    const rows = [...this.#rows].map(([name, hash]) => `${name} ${hash.hex()}`).sort();
    return sha256OfText(JSON.stringify([this.#spec, frequencies, rows]));
  }

  #add(name: string, firstRow: number, rows: number, rowOf: (row: number) => Float32Array | Uint32Array): void {
    for (let row = Math.ceil(firstRow / ROW_STRIDE) * ROW_STRIDE; row < firstRow + rows; row += ROW_STRIDE) {
      let hash = this.#rows.get(name);
      if (!hash) this.#rows.set(name, (hash = new Sha256()));
      const { buffer, byteOffset, byteLength } = rowOf(row - firstRow);
      hash.update(new Uint8Array(buffer, byteOffset, byteLength));
    }
  }
}
