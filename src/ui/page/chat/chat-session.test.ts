import { afterAll, expect, test } from "vitest";
import { TextGenerator } from "../../../api/text-generator";
import { chain, filesOf, scriptedCheckpoint } from "../../../testing/scripted-checkpoint";
import { loadScriptedChat, type ScriptedChat } from "../../../testing/scripted-chat";
import { ChatSession, takesChat, type PlainChat, type Turn } from "./chat-session";

/** The prompt ends with the message's own last character. */
const SCRIPT: ScriptedChat = {
  template: "{% for m in messages %}{{ m.role }}:{{ m.content }}{% if not loop.last %};{% endif %}{% endfor %}",
  answers: {
    "1": ["One was ", "first."],
    "2": ["Two came ", "second."],
    "3": [{ token: "<think>" }, "count ", { token: "</think>" }, "Three it is."],
  },
  added: ["<think>", "</think>"],
};

const generator = await loadScriptedChat(SCRIPT);
afterAll(() => generator.dispose());

function opened() {
  let changes = 0;
  const session = new ChatSession(() => changes++);
  session.open(generator);
  return { session, changes: () => changes };
}

const told = ({ message, answer: { text, state } }: Turn) => `${message} → ${text} (${state})`;

test("messages and answers follow each other, and every change is told", async () => {
  const { session, changes } = opened();
  const end = await session.send("say 1", {});
  await session.send("say 2", {});
  expect(session.path.map(told)).toEqual(["say 1 → One was first. (whole)", "say 2 → Two came second. (whole)"]);
  expect(end?.usage.completionTokens).toBe(2);
  expect(session.path[0]?.answer.tokens.map(({ text }) => text)).toEqual(["One was ", "first."]);
  expect(changes()).toBeGreaterThan(4);
  expect(session.isWriting).toBe(false);
});

test("a message in other words is a branch beside the old one, and both keep what followed them", async () => {
  const { session } = opened();
  await session.send("say 1", {});
  await session.send("say 2", {});
  const [first] = session.path;
  if (!first) throw new Error("nothing was said");
  await session.sendInstead(first, "rather 2", {});
  expect(session.path.map(told)).toEqual(["rather 2 → Two came second. (whole)"]);
  const [other] = session.path;
  if (!other) throw new Error("nothing was said");
  expect(session.versions(other)).toEqual({ at: 1, count: 2 });
  session.show(other, 1); // there is none
  session.show(other, -1);
  expect(session.path).toHaveLength(2);
  await session.send("then 1", {});
  session.show(first, 1);
  expect(session.path.map(({ message }) => message)).toEqual(["rather 2"]);
});

test("an answer can be had again", async () => {
  const { session } = opened();
  await session.send("say 1", {});
  await session.send("say 2", {});
  const last = session.path.at(-1);
  if (!last) throw new Error("nothing was said");
  await session.sendInstead(last, last.message, {});
  expect(session.path.map(told)).toEqual(["say 1 → One was first. (whole)", "say 2 → Two came second. (whole)"]);
  const again = session.path.at(-1);
  expect(again).not.toBe(last);
  expect(again && session.versions(again)).toEqual({ at: 1, count: 2 });
});

test("reasoning is told apart from the answer", async () => {
  const { session } = opened();
  await session.send("say 3", {});
  expect(session.path[0]?.answer).toMatchObject({ text: "Three it is.", reasoning: "count" });
});

test("an answer that a limit cuts says so, and one that is stopped before its first word leaves nothing", async () => {
  const { session } = opened();
  await session.send("say 1", { maxNewTokens: 1 });
  expect(session.path.map(told)).toEqual(["say 1 → One was  (cut)"]);
  const stopped = session.send("say 2", {});
  session.stop();
  expect(await stopped).toBeUndefined();
  expect(session.path).toHaveLength(1);
});

test("what is refused leaves the chat as it was", async () => {
  const { session } = opened();
  await session.send("say 1", {});
  await expect(session.send("say 2", { topK: -1 })).rejects.toMatchObject({ code: "option-invalid" });
  expect(session.path).toHaveLength(1);
  expect(session.isWriting).toBe(false);
});

test("kept as JSON and restored, it goes on as before, with all its branches and the system's message", async () => {
  const { session } = opened();
  session.system = "Be kind.";
  await session.send("say 1", {});
  const [first] = session.path;
  if (!first) throw new Error("nothing was said");
  await session.sendInstead(first, "say 3", {});
  const { session: restored } = opened();
  restored.restore(JSON.parse(JSON.stringify(session.toPlain())) as PlainChat);
  expect(restored.toPlain()).toEqual(session.toPlain());
  expect(restored.system).toBe("Be kind.");
  expect(await restored.countTokens("and 2")).toBe(await session.countTokens("and 2"));
  const [other] = restored.path;
  if (!other) throw new Error("nothing was restored");
  expect(restored.versions(other)).toEqual({ at: 1, count: 2 });
  await restored.send("say 2", {});
  expect(restored.path.map(told).at(-1)).toBe("say 2 → Two came second. (whole)");
});

test("the system's message counts, and a longer chat takes more positions", async () => {
  const { session } = opened();
  const bare = await session.countTokens("say 1");
  session.system = "Be kind.";
  const withSystem = await session.countTokens("say 1");
  await session.send("say 1", {});
  expect(withSystem).toBeGreaterThan(bare ?? Infinity);
  expect(await session.countTokens("say 1")).toBeGreaterThan(withSystem ?? Infinity);
});

test("a model without a chat template is told from one that has it", async () => {
  expect(await takesChat(generator)).toBe(true);
  const files = filesOf(scriptedCheckpoint({ pieces: ["<end>", "<begin>", "a"], size: 4, table: chain(3) }));
  const plain = await TextGenerator.load(files, { backend: "reference", dtype: "f32", worker: false });
  expect(await takesChat(plain)).toBe(false);
  await plain.dispose();
});
