// lib/history: the tokens of prompt and answer by position, behind what is asked of them; laid out as
// src/backends/gpu/history.ts writes it. `sample` appends what it chooses; forced tokens stand there from the start.

struct History {
  prompt_length: u32,
  penalty_last_n: u32,   // how many of the last tokens the penalties see
  ngram_size: u32,       // 0: no n-gram is kept from repeating
  dry_multiplier: f32,   // 0: no DRY
  dry_base_log2: f32,
  dry_allowed: u32,      // repeated tokens that cost nothing yet
  dry_longest: u32,      // repeated tokens that are counted at most
  dry_last_n: u32,       // how many of the last tokens DRY sees
  tokens: array<u32>,
}

/// In `matches`: the token would complete an n-gram that is there already. Else how many tokens would repeat.
const BANNED_BY_HISTORY = 0xffffffffu;
/// In `usage`: the token is in the prompt; the rest counts its times in the answer.
const IN_PROMPT = 0x80000000u;
