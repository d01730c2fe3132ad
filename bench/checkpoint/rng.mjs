// Seeded, platform-independent random numbers: xoshiro128++ and a bounded near-normal built from
// integer sums only (no Math.log/cos), so the same seed gives the same bits on any JS engine.
function fnv1a(str) {
  let h = 0x811c9dc5;
  for (let i = 0; i < str.length; i++) h = Math.imul(h ^ str.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

export class Rng {
  constructor(seed, label = "") {
    let z = (seed ^ fnv1a(label)) >>> 0;
    const mix = () => {
      z = (z + 0x9e3779b9) >>> 0;
      let t = z ^ (z >>> 16);
      t = Math.imul(t, 0x21f0aaad);
      t ^= t >>> 15;
      t = Math.imul(t, 0x735a2d97);
      return (t ^ (t >>> 15)) >>> 0;
    };
    this.s = Int32Array.of(mix(), mix(), mix(), mix());
  }

  u32() {
    const s = this.s;
    const sum = (s[0] + s[3]) | 0;
    const out = (((sum << 7) | (sum >>> 25)) + s[0]) >>> 0;
    const t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 11) | (s[3] >>> 21);
    return out;
  }

  int(n) {
    return Math.floor((this.u32() / 4294967296) * n);
  }

  // Sum of four 16-bit uniforms, centred; standard deviation 65536/sqrt(3).
  fillNormal(out, mean, std) {
    const k = (std * Math.sqrt(3)) / 65536;
    for (let i = 0; i < out.length; i++) {
      const a = this.u32(),
        b = this.u32();
      out[i] = mean + k * ((a & 0xffff) + (a >>> 16) + (b & 0xffff) + (b >>> 16) - 131070);
    }
    return out;
  }
}
