/** A name for something that is kept: 128 random bits. `crypto.randomUUID` is not there where an address is not secure. */
export function documentId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
