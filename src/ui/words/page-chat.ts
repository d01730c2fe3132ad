/** What the chat says. */
import { msg, str } from "@lit/localize";

export const yourMessage = () => msg("Your message", { id: "page-chat-your-message" });
export const placeholder = () => msg("Ask or say something …", { id: "page-chat-placeholder" });
export const send = () => msg("Send", { id: "page-chat-send" });
export const stop = () => msg("Stop", { id: "page-chat-stop" });
export const newChat = () => msg("New chat", { id: "page-chat-new" });
export const conversation = () => msg("Conversation", { id: "page-chat-conversation" });
export const youSaid = () => msg("You", { id: "page-chat-you" });
export const modelSaid = () => msg("The model", { id: "page-chat-model" });

export const lead = () => msg("Say something, and the model answers.", { id: "page-chat-lead" });
export const staysHere = (name: string) =>
  msg(str`${name} runs on your own device. Nothing you write leaves it.`, { id: "page-chat-stays-here" });

export const notMadeForChat = (name: string) =>
  msg(str`${name} is not made for chat.`, { id: "page-chat-not-made-for-it" });
export const whyNoChat = () =>
  msg(
    "It writes texts on, and has no chat template: nothing in it says how a question and an answer look. " +
      "To chat, load a model made for it, for example HuggingFaceTB/SmolLM2-135M-Instruct.",
    { id: "page-chat-why-not" },
  );
export const chooseModel = () => msg("Choose a model", { id: "page-chat-choose-model" });
export const writeInstead = () => msg("Write a text with it", { id: "page-chat-write-instead" });
export const loadModel = (name: string) => msg(str`Load ${name}`, { id: "page-chat-load" });
export const loadAgain = () => msg("Load again", { id: "page-chat-load-again" });
export const cancelLoading = () => msg("Cancel loading", { id: "page-chat-cancel-loading" });

export const copy = () => msg("Copy", { id: "page-chat-copy" });
export const copied = () => msg("Copied", { id: "page-chat-copied" });
export const edit = () => msg("Edit", { id: "page-chat-edit" });
export const regenerate = () => msg("Answer anew", { id: "page-chat-regenerate" });
export const sendEdited = () => msg("Send in its place", { id: "page-chat-send-edited" });
export const cancel = () => msg("Cancel", { id: "page-chat-cancel" });
export const editedMessage = () => msg("The message in other words", { id: "page-chat-edited-message" });
export const version = (at: number, count: number) => msg(str`${at} of ${count}`, { id: "page-chat-version" });
export const earlier = () => msg("Earlier version", { id: "page-chat-earlier" });
export const later = () => msg("Later version", { id: "page-chat-later" });

export const thinking = () => msg("Thinking …", { id: "page-chat-thinking" });
export const thought = (wordCount: number) =>
  wordCount === 1
    ? msg("Thought, in 1 word", { id: "page-chat-thought-one" })
    : msg(str`Thought, in ${wordCount} words`, { id: "page-chat-thought" });
export const reading = () => msg("Reading …", { id: "page-chat-reading" });
export const code = (language: string) =>
  language === ""
    ? msg("Code", { id: "page-chat-code" })
    : msg(str`Code: ${language}`, { id: "page-chat-code-language" });

export const endOfAnswer = () => msg("End of the answer.", { id: "page-chat-end" });
export const cutByLength = () =>
  msg("The answer was cut at the length limit. “Tokens to write” in the settings raises it.", {
    id: "page-chat-cut",
  });
export const stopped = () => msg("Stopped.", { id: "page-chat-stopped" });
export const dropped = (turnCount: number) =>
  turnCount === 1
    ? msg("The context was full: the oldest message and its answer are no longer seen by the model.", {
        id: "page-chat-dropped-one",
      })
    : msg(str`The context was full: the ${turnCount} oldest messages and answers are no longer seen by the model.`, {
        id: "page-chat-dropped",
      });

export const positions = (used: number, length: number) =>
  msg(str`${used} of ${length} positions with this message`, { id: "page-chat-positions" });
export const positionsUsed = (used: number, length: number) =>
  msg(str`${used} of ${length} positions used`, { id: "page-chat-positions-used" });
export const tooLong = (used: number, length: number) =>
  msg(
    str`${used} positions, and the model sees ${length}: the oldest messages will be left out. Shorten this one if it alone is too long.`,
    { id: "page-chat-too-long" },
  );
