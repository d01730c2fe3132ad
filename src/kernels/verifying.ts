import { read, write, type Dispatch } from "../gpu/pipelines";
import { checkSize, makeDispatch, RECORD_BYTES, type KernelContext } from "./kernel";

/**
 * Pauses the sequence where the token just chosen is not the draft that the chunk goes on with; see shaders/accept.wgsl.
 *
 * @param chunk header and tokens of the chunk whose rows are sampled one after the other
 */
export function accept(
  context: KernelContext,
  { sequences, chunk }: { sequences: GPUBuffer; chunk: GPUBuffer },
): Promise<Dispatch> {
  checkSize("sequences", sequences, RECORD_BYTES);
  return makeDispatch(context, "accept", {
    label: "accept",
    constants: {},
    workgroupSize: 1,
    bindings: { 0: read(chunk), 1: write(sequences) },
    grid: () => [1, 1, 1],
  });
}
