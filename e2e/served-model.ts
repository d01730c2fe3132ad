/** A model made in memory, at an address of the page's own server. */
import type { Page } from "@playwright/test";
import { scriptedChatCheckpoint, type ScriptedChat } from "../src/testing/scripted-chat-checkpoint";

/** Its answer is chosen by the message's last character. */
export const CHAT: ScriptedChat = {
  template: "{% for m in messages %}{{ m.role }}: {{ m.content }}{% if not loop.last %}\n{% endif %}{% endfor %}",
  answers: {
    "1": ["The first ", "answer, ", "in two ", "pieces.\n\n", "```js\n", "let a = ", "<b>1</b>;\n", "```"],
    "2": ["Another ", "answer."],
    "3": [{ token: "<think>" }, "Let me ", "count. ", { token: "</think>" }, "It is ", "three."],
  },
  added: ["<think>", "</think>"],
  contextLength: 512,
};

export async function serveFiles(page: Page, folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  await page.route(`**/models/${folder}/**`, (route) => {
    const bytes = files.get(new URL(route.request().url()).pathname.split("/").at(-1) ?? "");
    if (!bytes) return route.fulfill({ status: 404 });
    const range = /bytes=(\d+)-(\d*)/.exec(route.request().headers()["range"] ?? "");
    if (!range) return route.fulfill({ body: Buffer.from(bytes) });
    const [start, end] = [Number(range[1]), Math.min(Number(range[2] || Infinity), bytes.length - 1)];
    const headers = { "content-range": `bytes ${start}-${end}/${bytes.length}` };
    return route.fulfill({ status: 206, body: Buffer.from(bytes.subarray(start, end + 1)), headers });
  });
}

/** @returns the page's address for it */
export async function serveChat(page: Page): Promise<string> {
  await serveFiles(page, "scripted", scriptedChatCheckpoint(CHAT));
  return "./?model=models/scripted&mode=chat";
}
