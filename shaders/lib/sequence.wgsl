// lib/sequence: the state record of one sequence; 64 words, laid out as src/backends/gpu/sequence-record.ts writes it.
//
// The first eight words are what a step reports: they are copied to the host after each step.

struct Sequence {
  position: u32,         // of `token`, whose key and value are not in the cache yet
  token: u32,            // the last one chosen (or the prompt's last, before the first choice)
  count: u32,            // tokens chosen in this run
  done: u32,             // 1: every later step returns at once and changes nothing; PAUSED: so it is for now
  invalid: u32,          // 1: a logit was NaN or +inf, or none was finite
  logprob: f32,          // of `token`, by the model itself
  rank: u32,             // of `token` among all by the model itself, from 1 (where statistics are wanted)
  entropy: f32,          // of the distribution it was chosen from, in nats
  limit: u32,            // count that ends the run
  capacity: u32,         // positions of the KV cache
  seed_low: u32,
  seed_high: u32,
  inverse_temperature: f32,  // 0: greedy
  top_k: u32,            // 0: no cut-off
  top_p: f32,            // 1: no cut-off
  min_p: f32,            // 0: no cut-off
  repetition: f32,
  frequency: f32,
  presence: f32,
  top_count: u32,        // how many of the likeliest are reported
  end_count: u32,
  typical_p: f32,        // 1: no cut-off
  top_n_sigma: f32,      // 0: no cut-off
  xtc_probability: f32,  // 0: never
  xtc_threshold: f32,
  minimum: u32,          // tokens before which end tokens are banned
  forced_count: u32,     // tokens that stand in the history already
  reserved: array<u32, 5>,
  ends: array<u32, 32>,  // ids that end the run
}

/// In `done`: the rows that follow in this submit were computed with another token than was chosen.
const PAUSED = 2u;
