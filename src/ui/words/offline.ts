/** What the page says about its language, about being offline and about newer versions of itself. */
import { msg, str } from "@lit/localize";

export const languageLabel = () => msg("Language", { id: "offline-language" });
export const languageFailed = (name: string) =>
  msg(str`The words for ${name} could not be fetched. Check the connection, then choose it again.`, {
    id: "offline-language-failed",
  });
