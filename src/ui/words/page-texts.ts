/** What the page says about texts: their versions, keeping, saving and sharing them. */
import { msg, str } from "@lit/localize";

export const actions = () => msg("This text", { id: "page-this-text" });
export const version = (at: number, count: number) => msg(str`${at} of ${count}`, { id: "page-text-version" });
export const earlier = () => msg("Earlier version", { id: "page-text-earlier" });
export const later = () => msg("Later version", { id: "page-text-later" });
export const copy = () => msg("Copy", { id: "page-text-copy" });
export const copied = () => msg("Copied", { id: "page-text-copied" });
export const edit = () => msg("Edit", { id: "page-text-edit" });
export const shareAndSave = () => msg("Share and save", { id: "page-text-share-and-save" });

export const nothingYet = () =>
  msg("Nothing has been written yet. What you write stands here then, to be saved and shared.", {
    id: "page-texts-nothing-yet",
  });
export const save = () => msg("Save it", { id: "page-texts-save" });
export const asText = () => msg("Text", { id: "page-texts-as-text" });
export const asMarkdown = () => msg("Markdown", { id: "page-texts-as-markdown" });
export const asJson = () => msg("JSON, with tokens", { id: "page-texts-as-json" });
export const shareLink = () => msg("Link", { id: "page-texts-link" });
export const shareLinkHelp = () =>
  msg(
    "Opens this page with the same beginning, model and settings. What stands behind the # is not sent to any server.",
    { id: "page-texts-link-help" },
  );
export const withFiles = () =>
  msg("The model's files on this device are not shared: whoever opens the link gets the page's own model.", {
    id: "page-texts-link-files",
  });
export const withText = () => msg("With what was written", { id: "page-texts-with-text" });
export const copyLink = () => msg("Copy the link", { id: "page-texts-copy-link" });

export const kept = () => msg("Kept in this browser", { id: "page-texts-kept" });
export const keep = () => msg("Keep what is written here", { id: "page-texts-keep" });
export const keepNote = () =>
  msg("Texts and chats stay in this browser until you delete them, and go nowhere else.", {
    id: "page-texts-keep-note",
  });
export const noneKept = () => msg("None yet.", { id: "page-texts-none" });
export const newText = () => msg("New text", { id: "page-texts-new" });
export const open = () => msg("Open", { id: "page-texts-open" });
export const openNamed = (title: string) => msg(str`Open “${title}”`, { id: "page-texts-open-named" });
export const remove = () => msg("Delete", { id: "page-texts-delete" });
export const removeNamed = (title: string) => msg(str`Delete “${title}”`, { id: "page-texts-delete-named" });
export const removeAll = () => msg("Delete all", { id: "page-texts-delete-all" });
export const removeAllNow = (count: number) => msg(str`Delete all ${count}?`, { id: "page-texts-delete-all-now" });
export const removed = (title: string) => msg(str`“${title}” is deleted.`, { id: "page-texts-deleted" });
export const allRemoved = () => msg("All are deleted.", { id: "page-texts-all-deleted" });
export const isText = (model: string, day: string) => msg(str`Text by ${model}, ${day}`, { id: "page-texts-is-text" });
export const isChat = (model: string, day: string) =>
  msg(str`Chat with ${model}, ${day}`, { id: "page-texts-is-chat" });
export const untitled = () => msg("Without words", { id: "page-texts-untitled" });
export const youSaid = () => msg("You", { id: "page-texts-you" });
