// f16 conversion and ggml block quantisation (Q8_0, Q4_0). Q4_0 blocks are also what the ONNX q4
// file uses (same integers, same scales), so both 4-bit files hold the same effective weights.
const fb = new Float32Array(1),
  ub = new Uint32Array(fb.buffer);

export function f32ToF16(x) {
  fb[0] = x;
  const u = ub[0],
    sign = (u >>> 16) & 0x8000,
    e = (u >>> 23) & 0xff,
    m = u & 0x7fffff;
  if (e === 255) return sign | 0x7c00 | (m ? 0x200 : 0);
  const ex = e - 112;
  if (ex >= 31) return sign | 0x7c00;
  if (ex <= 0) {
    if (ex < -10) return sign;
    const full = m | 0x800000,
      shift = 14 - ex;
    let h = full >>> shift;
    const rem = full & ((1 << shift) - 1),
      half = 1 << (shift - 1);
    if (rem > half || (rem === half && h & 1)) h++;
    return sign | h;
  }
  let h = (ex << 10) | (m >>> 13);
  const rem = m & 0x1fff;
  if (rem > 0x1000 || (rem === 0x1000 && h & 1)) h++;
  return sign | h;
}

export function f16ToF32(h) {
  const sign = h & 0x8000 ? -1 : 1,
    e = (h >>> 10) & 31,
    m = h & 1023;
  if (e === 0) return sign * m * 2 ** -24;
  if (e === 31) return m ? NaN : sign * Infinity;
  return sign * (1 + m / 1024) * 2 ** (e - 15);
}

export function toF16(a) {
  const out = new Uint16Array(a.length);
  for (let i = 0; i < a.length; i++) out[i] = f32ToF16(a[i]);
  return out;
}

export function toBf16(a) {
  const out = new Uint16Array(a.length),
    u = new Uint32Array(a.buffer, a.byteOffset, a.length);
  for (let i = 0; i < a.length; i++) out[i] = (u[i] + 0x7fff + ((u[i] >>> 16) & 1)) >>> 16;
  return out;
}

export function q8_0(a) {
  const nb = a.length / 32,
    out = Buffer.alloc(nb * 34);
  for (let b = 0; b < nb; b++) {
    let amax = 0;
    for (let j = 0; j < 32; j++) amax = Math.max(amax, Math.abs(a[b * 32 + j]));
    const d = Math.fround(amax / 127),
      id = d ? 1 / d : 0;
    out.writeUInt16LE(f32ToF16(d), b * 34);
    for (let j = 0; j < 32; j++) {
      const v = a[b * 32 + j] * id;
      out.writeInt8(v < 0 ? -Math.round(-v) : Math.round(v), b * 34 + 2 + j);
    }
  }
  return out;
}

// Blocks of 32: f16 scale (d = signed extreme / -8) and integers 0..15 meaning (q - 8) * d.
export function q4Blocks(a) {
  const nb = a.length / 32,
    q = new Uint8Array(a.length),
    d16 = new Uint16Array(nb);
  for (let b = 0; b < nb; b++) {
    let amax = 0,
      max = 0;
    for (let j = 0; j < 32; j++) {
      const v = a[b * 32 + j];
      if (Math.abs(v) > amax) {
        amax = Math.abs(v);
        max = v;
      }
    }
    const d = max / -8,
      id = d ? 1 / d : 0;
    d16[b] = f32ToF16(d);
    for (let j = 0; j < 32; j++) q[b * 32 + j] = Math.max(0, Math.min(15, Math.floor(a[b * 32 + j] * id + 8.5)));
  }
  return { q, d16 };
}

export function q4_0({ q, d16 }) {
  const out = Buffer.alloc(d16.length * 18);
  for (let b = 0; b < d16.length; b++) {
    out.writeUInt16LE(d16[b], b * 18);
    for (let j = 0; j < 16; j++) out[b * 18 + 2 + j] = q[b * 32 + j] | (q[b * 32 + 16 + j] << 4);
  }
  return out;
}

export function q4Dequant({ q, d16 }) {
  const out = new Float32Array(q.length);
  for (let b = 0; b < d16.length; b++) {
    const d = f16ToF32(d16[b]);
    for (let j = 0; j < 32; j++) out[b * 32 + j] = (q[b * 32 + j] - 8) * d;
  }
  return out;
}
