// Classic script, loaded before any engine, in the page and (through the Worker wrapper below) in every
// worker an engine starts. Counts WebGPU calls on the prototypes. globalThis.__gpuProbe.snapshot() returns
// the totals of the page and of all workers.
(() => {
  if (globalThis.__gpuProbe) return;
  const c = {
    dispatches: 0,
    computePasses: 0,
    submits: 0,
    commandBuffers: 0,
    mapAsyncs: 0,
    mapReadBytes: 0,
    writeBuffers: 0,
    writeBytes: 0,
    copies: 0,
    buffersCreated: 0,
    bufferBytesLive: 0,
    bufferBytesPeak: 0,
    bindGroups: 0,
    pipelines: 0,
    workDone: 0,
  };
  const devices = [];
  const wrap = (Class, name, before) => {
    const proto = globalThis[Class]?.prototype,
      orig = proto?.[name];
    if (!orig) return;
    proto[name] = function (...a) {
      before.call(this, ...a);
      return orig.apply(this, a);
    };
  };
  wrap("GPUComputePassEncoder", "dispatchWorkgroups", () => {
    c.dispatches++;
  });
  wrap("GPUComputePassEncoder", "dispatchWorkgroupsIndirect", () => {
    c.dispatches++;
  });
  wrap("GPUCommandEncoder", "beginComputePass", () => {
    c.computePasses++;
  });
  wrap("GPUCommandEncoder", "copyBufferToBuffer", () => {
    c.copies++;
  });
  wrap("GPUQueue", "submit", (list) => {
    c.submits++;
    c.commandBuffers += list?.length ?? 0;
  });
  wrap("GPUQueue", "onSubmittedWorkDone", () => {
    c.workDone++;
  });
  wrap("GPUQueue", "writeBuffer", (buf, off, data, dataOff = 0, size) => {
    c.writeBuffers++;
    const unit = data.BYTES_PER_ELEMENT ?? 1;
    c.writeBytes += size !== undefined ? size * unit : data.byteLength - dataOff * unit;
  });
  wrap("GPUBuffer", "mapAsync", function (mode, offset = 0, size) {
    c.mapAsyncs++;
    if (mode & 1) c.mapReadBytes += size ?? this.size - offset;
  });
  wrap("GPUDevice", "createBindGroup", () => {
    c.bindGroups++;
  });
  wrap("GPUDevice", "createComputePipeline", () => {
    c.pipelines++;
  });
  wrap("GPUDevice", "createComputePipelineAsync", () => {
    c.pipelines++;
  });

  // Live bytes: createBuffer adds, destroy() or garbage collection of the JS object subtracts.
  const live = new WeakMap();
  const gone =
    globalThis.FinalizationRegistry &&
    new FinalizationRegistry((rec) => {
      if (rec.size) {
        c.bufferBytesLive -= rec.size;
        rec.size = 0;
      }
    });
  if (globalThis.GPUDevice) {
    const create = GPUDevice.prototype.createBuffer,
      destroy = GPUBuffer.prototype.destroy;
    GPUDevice.prototype.createBuffer = function (d) {
      const b = create.call(this, d),
        rec = { size: d.size };
      c.buffersCreated++;
      c.bufferBytesLive += d.size;
      c.bufferBytesPeak = Math.max(c.bufferBytesPeak, c.bufferBytesLive);
      live.set(b, rec);
      gone?.register(b, rec);
      return b;
    };
    GPUBuffer.prototype.destroy = function () {
      const rec = live.get(this);
      if (rec?.size) {
        c.bufferBytesLive -= rec.size;
        rec.size = 0;
      }
      return destroy.call(this);
    };
    const request = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (d) {
      const dev = await request.call(this, d),
        i = this.info ?? {};
      devices.push({
        adapter: `${i.vendor}/${i.architecture}`,
        features: [...dev.features],
        fallback: !!i.isFallbackAdapter,
      });
      return dev;
    };
  }

  const inWorker = typeof WorkerGlobalScope !== "undefined";
  // Adapter features to hide from the engine: ?hide=a,b on the page, handed on to workers.
  const hide = globalThis.__gpuHide ?? (inWorker ? "" : (new URLSearchParams(location.search).get("hide") ?? ""));
  if (hide && globalThis.GPUAdapter) {
    const get = Object.getOwnPropertyDescriptor(GPUAdapter.prototype, "features").get;
    Object.defineProperty(GPUAdapter.prototype, "features", {
      configurable: true,
      get() {
        return new Set([...get.call(this)].filter((f) => !hide.split(",").includes(f)));
      },
    });
  }
  const chan = new BroadcastChannel("gpu-probe");
  if (inWorker) {
    chan.onmessage = (e) => {
      if (e.data.ask) chan.postMessage({ answer: e.data.ask, counts: { ...c }, devices });
    };
    globalThis.__gpuProbe = { counts: c };
    chan.postMessage({ hello: true });
    return;
  }

  // Page: start workers with this script first.
  const here = document.currentScript?.src ?? new URL("/page/probe.js", location.href).href;
  const Native = globalThis.Worker;
  let workers = 0;
  globalThis.Worker = class extends Native {
    constructor(url, opts = {}) {
      const target = JSON.stringify(new URL(url, location.href).href),
        probe = JSON.stringify(here);
      // Messages that arrive before the real script has its handler are kept and replayed.
      const set = `globalThis.__gpuHide=${JSON.stringify(hide)};`;
      const boot =
        set +
        (opts.type === "module"
          ? `const early=[];const keep=e=>{if(e.data)early.push(e)};addEventListener('message',keep);
           await import(${probe});await import(${target});removeEventListener('message',keep);
           for(const e of early)dispatchEvent(new MessageEvent('message',{data:e.data,ports:[...e.ports]}));`
          : `importScripts(${probe});importScripts(${target});`);
      super(URL.createObjectURL(new Blob([boot], { type: "text/javascript" })), opts);
      workers++;
    }
  };

  let seq = 0;
  globalThis.__gpuProbe = {
    counts: c,
    devices,
    async snapshot(waitMs = 3000) {
      const sum = { ...c },
        devs = [...devices],
        ask = ++seq;
      if (workers) {
        await new Promise((done) => {
          let answers = 0;
          const timer = setTimeout(finish, waitMs);
          function finish() {
            clearTimeout(timer);
            chan.onmessage = null;
            done();
          }
          chan.onmessage = (e) => {
            if (e.data.answer !== ask) return;
            for (const k in sum) sum[k] += e.data.counts[k];
            devs.push(...e.data.devices);
            if (++answers >= workers) finish();
          };
          chan.postMessage({ ask });
        });
      }
      return { counts: sum, devices: devs, workers };
    },
  };
})();
