/**
 * Talks with a frame that shows Wordloom's embed.html. It is heard there because the frame's address names this page's
 * origin (`?origin=`), or has the same one.
 *
 * @param {HTMLIFrameElement} frame
 * @param {(message: { type: string, detail?: any, state?: string, text?: string }) => void} onMessage the element's events
 *   (`generated-token`, `generation-end`, …) with their `detail`; "state" with the text so far; "refused" with the reason
 * @returns {(type: string, rest?: object) => void} says "load", "generate" (with `prompt` and `options`, if any),
 *   "continue", "stop" or "reset"
 */
export function connectStory(frame, onMessage) {
  const { origin } = new URL(frame.src);
  const say = (type, rest = {}) => frame.contentWindow.postMessage({ wordloom: 1, type, ...rest }, origin);

  globalThis.addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || event.origin !== origin || event.data?.wordloom !== 1) return;
    if (event.data.type === "size")
      frame.style.blockSize = `${event.data.height}px`; // as high as its content
    else onMessage(event.data);
  });
  frame.addEventListener("load", () => say("connect"));
  return say;
}
