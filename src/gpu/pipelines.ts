/** Compute pipelines: assembled from shaders/, compiled in parallel, each only once per device. */
import { WordloomError } from "../errors";
import { shaderFiles } from "./shader-files";
import { assembleWgsl, explainMessages, type WgslConstant } from "./wgsl";

/** How a kernel uses its n-th binding (@group(0) @binding(n)). */
export type Access = "read" | "write";

export interface KernelSource {
  /** File under shaders/ without its ending. */
  file: string;
  defines: Readonly<Record<string, string | boolean>>;
  constants: Readonly<Record<string, WgslConstant>>;
}

/** One entry of a recorded list: what is set and dispatched, and nothing is left to decide. */
export interface Dispatch {
  label: string;
  pipeline: GPUComputePipeline;
  bindGroup: GPUBindGroup;
  grid: Grid;
}

/** Workgroups for `rows` rows of activations (1 in decode). */
export type Grid = (rows: number) => readonly [x: number, y: number, z: number];

/** What stands at each @binding number; numbers may be left out. */
export type Bindings = Readonly<Record<number, { buffer: GPUBuffer; access: Access } | undefined>>;

export const read = (buffer: GPUBuffer) => ({ buffer, access: "read" as const });
export const write = (buffer: GPUBuffer) => ({ buffer, access: "write" as const });

export class PipelineCache {
  #pipelines = new Map<string, Promise<GPUComputePipeline>>();
  #layouts = new Map<string, GPUBindGroupLayout>();

  constructor(
    readonly device: GPUDevice,
    private readonly files: ReadonlyMap<string, string> = shaderFiles,
  ) {}

  /** Compiles (or finds) the kernel and binds the buffers in their order. */
  async dispatch(label: string, source: KernelSource, bindings: Bindings, grid: Grid): Promise<Dispatch> {
    const bound = Object.entries(bindings).flatMap(([number, entry]) =>
      entry === undefined ? [] : [{ binding: Number(number), ...entry }],
    );
    const layout = this.#layout(bound);
    const bindGroup = this.device.createBindGroup({
      label,
      layout,
      entries: bound.map(({ binding, buffer }) => ({ binding, resource: { buffer } })),
    });
    return { label, pipeline: await this.#pipeline(source, layout), bindGroup, grid };
  }

  #layout(bound: readonly { binding: number; access: Access }[]): GPUBindGroupLayout {
    const key = bound.map(({ binding, access }) => `${binding}:${access}`).join(" ");
    let layout = this.#layouts.get(key);
    if (layout === undefined) {
      const types = { read: "read-only-storage", write: "storage" } as const;
      layout = this.device.createBindGroupLayout({
        label: key,
        entries: bound.map(({ binding, access }) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type: types[access] },
        })),
      });
      this.#layouts.set(key, layout);
    }
    return layout;
  }

  #pipeline(source: KernelSource, layout: GPUBindGroupLayout): Promise<GPUComputePipeline> {
    const key = JSON.stringify([source.file, source.defines, source.constants, layout.label]);
    let pipeline = this.#pipelines.get(key);
    if (pipeline === undefined) {
      pipeline = this.#compile(source, layout);
      this.#pipelines.set(key, pipeline);
    }
    return pipeline;
  }

  async #compile(source: KernelSource, layout: GPUBindGroupLayout): Promise<GPUComputePipeline> {
    const { device } = this;
    const { file } = source;
    const module = assembleWgsl(`${file}.wgsl`, this.files, source);
    device.pushErrorScope("validation");
    const shader = device.createShaderModule({ label: file, code: module.code });
    const invalid = device.popErrorScope();
    try {
      const compiled = device.createComputePipelineAsync({
        label: file,
        layout: device.createPipelineLayout({ label: file, bindGroupLayouts: [layout] }),
        compute: { module: shader, entryPoint: "main" },
      });
      compiled.catch(() => undefined); // reported below; without this a faster rejection would count as unhandled
      if ((await invalid) !== null) {
        const { messages } = await shader.getCompilationInfo();
        throw new WordloomError(
          "kernel-failed",
          explainMessages(module, messages) || `shaders/${file}.wgsl does not compile`,
        );
      }
      return await compiled;
    } catch (error) {
      if (error instanceof WordloomError) throw error;
      throw new WordloomError("kernel-failed", `shaders/${file}.wgsl: ${String(error)}`, { cause: error });
    }
  }
}

const caches = new WeakMap<GPUDevice, PipelineCache>();

/** The device's one cache: two models on a device that was passed in share what they can. */
export function pipelinesOf(device: GPUDevice): PipelineCache {
  let cache = caches.get(device);
  if (cache === undefined) caches.set(device, (cache = new PipelineCache(device)));
  return cache;
}

/** Replays a recorded list into a pass; sets only what changes. */
export function replay(pass: GPUComputePassEncoder, list: readonly Dispatch[], rows = 1): void {
  let current: GPUComputePipeline | undefined;
  for (const { pipeline, bindGroup, grid } of list) {
    if (pipeline !== current) pass.setPipeline((current = pipeline));
    pass.setBindGroup(0, bindGroup);
    const [x, y, z] = grid(rows);
    pass.dispatchWorkgroups(x, y, z);
  }
}

/** A grid of at least `count` workgroups within 65535 a side; kernels fold y back onto x and check their bound. */
export function gridOf(count: number): readonly [number, number, number] {
  const x = Math.min(count, 65535);
  return [x, Math.ceil(count / x), 1];
}
