/** What stands in the page before the inspector is fetched. */
import { msg, str } from "@lit/localize";

export const lookInside = () => msg("Look inside", { id: "inspector-look-inside" });
export const stopLooking = () => msg("Close the inside view", { id: "inspector-stop-looking" });
export const lookFailed = (message: string) =>
  msg(str`The inside view could not be fetched: ${message}. Check the connection, then try again.`, {
    id: "inspector-look-failed",
  });
