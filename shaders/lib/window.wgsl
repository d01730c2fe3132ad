// lib/window: which positions a token attends to where the layer has a sliding window.
//
// Needs from the includer:  WINDOW (positions, the token's own included)
// Source: Beltagy et al. 2020, "Longformer", sec. 3.1, causal.

/// The first of the last WINDOW positions up to `position`.
fn first_visible(position: u32) -> u32 { return max(position + 1u, WINDOW) - WINDOW; }
