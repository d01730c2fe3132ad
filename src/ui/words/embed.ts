/** What is said about Wordloom in somebody's own page. */
import { msg, str } from "@lit/localize";

export const embedRefused = (what: string) =>
  msg(str`Not understood in this frame's address: ${what}`, { id: "embed-refused" });
export const embedByScript = () => msg("As an element of the page", { id: "embed-script" });
export const aboutScript = () =>
  msg(
    "Put word-loom.js (from the package's folder dist-lib) beside the page. The server that has the model must let the page read it (CORS), unless it is the page's own.",
    { id: "embed-about-script" },
  );
export const embedByFrame = () => msg("In a frame", { id: "embed-frame" });
export const aboutFrame = () =>
  msg(
    "Nothing of it reaches the page, nor the page it, but messages between the frame and the origin that its address names; write your own there.",
    { id: "embed-about-frame" },
  );
export const policy = () => msg("Under a strict policy, allow:", { id: "embed-policy" });
export const copy = () => msg("Copy", { id: "embed-copy" });
export const copied = () => msg("Copied", { id: "embed-copied" });
