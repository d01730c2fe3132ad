/** What the page says about its language, about being offline and about newer versions of itself. */
import { msg, str } from "@lit/localize";
import type { Kept } from "../offline/offline";

export const languageLabel = () => msg("Language", { id: "offline-language" });
export const languageFailed = (name: string) =>
  msg(str`The words for ${name} could not be fetched. Check the connection, then choose it again.`, {
    id: "offline-language-failed",
  });

export const updateHere = () => msg("A newer version is here.", { id: "offline-update" });
export const useUpdateButton = () => msg("Use it", { id: "offline-update-use" });
export const updateWaits = () => msg("Used as soon as no text is being written.", { id: "offline-update-waits" });
export const updateElsewhere = () => msg("A newer version is in use.", { id: "offline-update-elsewhere" });
export const reloadButton = () => msg("Load it here", { id: "offline-update-reload" });

export function keptSentence(kept: Kept): string {
  if (typeof kept === "object")
    return msg(str`Without a network this page would not work: ${kept.failed}.`, { id: "offline-kept-failed" });
  switch (kept) {
    case "insecure":
      return msg("Not kept for use without a network: browsers allow that only on https and on localhost.", {
        id: "offline-kept-insecure",
      });
    case "unsupported":
      return msg("This browser keeps no pages for use without a network.", { id: "offline-kept-unsupported" });
    case "fetching":
      return msg("The page is being kept for use without a network …", { id: "offline-kept-fetching" });
    case "page":
      return msg("The page also opens without a network; the story model is kept once it has been loaded.", {
        id: "offline-kept-page",
      });
    case "all":
      return msg("The page and the story model are kept on this device, and work without a network.", {
        id: "offline-kept-all",
      });
  }
}

export const insecureTitle = () => msg("This address is not a secure one.", { id: "offline-insecure-title" });
export const insecureHere = (origin: string) =>
  msg(
    str`Browsers give a page from ${origin} neither the graphics card nor use without a network. It would have both if one of these is done:`,
    { id: "offline-insecure" },
  );
export const insecureRemedies = ({ atHome, tunnel, here }: { atHome: string; tunnel: string; here: string }) => [
  msg(str`On the computer that serves the page, open ${atHome} instead.`, { id: "offline-insecure-localhost" }),
  msg(str`On another one, bring it there: run ${tunnel}, then open ${here}.`, { id: "offline-insecure-tunnel" }),
  msg("Or have it served by https.", { id: "offline-insecure-https" }),
];
