/**
 * What came instead of a model file, from its first bytes: servers answer a missing file with their start page and
 * status 200, and a clone without Git LFS holds small text files in place of the weights.
 */

/** Bytes from the start of a file that are enough for `foreignContent`. */
export const FOREIGN_CONTENT_BYTES = 64;

/** In words, or undefined when the bytes look like neither of these. */
export function foreignContent(firstBytes: Uint8Array): "an HTML page" | "a Git LFS pointer" | undefined {
  // Latin-1 on purpose: every byte becomes a character, so binary content cannot throw here.
  const text = String.fromCharCode(...firstBytes.subarray(0, FOREIGN_CONTENT_BYTES)).replace(/^\xEF\xBB\xBF/, "");
  if (/^\s*<(!doctyp|!--|html|head|body|\?xml)/i.test(text)) return "an HTML page";
  if (text.startsWith("version https://git-lfs")) return "a Git LFS pointer";
  return undefined;
}
