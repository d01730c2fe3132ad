import fs from "node:fs";

export const bytesOf = (a) => (Buffer.isBuffer(a) ? a : Buffer.from(a.buffer, a.byteOffset, a.byteLength));

// Sequential writer; buffers are written in slices so that nothing over 2 GiB is passed at once.
export class Out {
  constructor(path) {
    this.fd = fs.openSync(path, "w");
    this.pos = 0;
  }
  write(buf) {
    const b = bytesOf(buf);
    for (let o = 0; o < b.length;) o += fs.writeSync(this.fd, b, o, Math.min(b.length - o, 1 << 28));
    this.pos += b.length;
  }
  pad(align) {
    const r = this.pos % align;
    if (r) this.write(Buffer.alloc(align - r));
  }
  close() {
    fs.closeSync(this.fd);
  }
}

export function transpose(a, rows, cols) {
  const out = new Float32Array(a.length);
  const T = 32;
  for (let r0 = 0; r0 < rows; r0 += T)
    for (let c0 = 0; c0 < cols; c0 += T) {
      const r1 = Math.min(rows, r0 + T),
        c1 = Math.min(cols, c0 + T);
      for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) out[c * rows + r] = a[r * cols + c];
    }
  return out;
}
