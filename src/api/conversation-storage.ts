/** What is kept of conversations on this device: list, delete. */
import { ConversationStore, type StoredConversation } from "../storage/conversation-store";
import { browserPlace } from "../storage/model-store";
import { invalid } from "./option-checks";

export type { StoredConversation };

/**
 * Conversations that `Conversation.save` has kept in this browser's storage for this site. Where there is no such storage
 * the list is empty.
 */
export const conversationStorage = {
  /** @throws WordloomError storage-failed */
  async list(): Promise<StoredConversation[]> {
    const place = await browserPlace();
    return typeof place === "string" ? [] : new ConversationStore(place).list();
  },

  /** One that is not there any more is no error. @throws WordloomError storage-failed */
  async delete(name: string): Promise<void> {
    if (typeof name !== "string") throw invalid("name", name, "a string");
    const place = await browserPlace();
    if (typeof place !== "string") await new ConversationStore(place).delete(name);
  },
};
