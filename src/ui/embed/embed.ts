/** The script of embed.html: the element alone, with the settings of the address, for a frame in somebody's page. */
import "../word-loom/word-loom";
import { foreignHost, readQuery } from "../page/query";
import { elementSettings } from "../page/sampling";
import { embedRefused } from "../words/embed";
import { languageReady, startPageLanguage } from "../words/localization";
import { connectFrame } from "./frame";
import { allowedOrigins } from "./protocol";

startPageLanguage(() => import("../words/german-page"));
await languageReady();

const { load, sampling, run, prompt, runAtOnce, unknown } = readQuery(location.search);
const problems = unknown.filter((name) => name !== "origin");
try {
  const origins = allowedOrigins(location.search, location.origin);
  const loom = document.createElement("word-loom");
  Object.assign(loom, load, elementSettings(sampling, run), { prompt });
  document.body.append(loom);
  connectFrame(loom, origins);
  // As on the page itself: nothing is fetched from another server before somebody asks for it.
  if (runAtOnce && foreignHost(load.model, document.baseURI) === undefined) void loom.generate();
} catch (error) {
  if (!(error instanceof RangeError)) throw error;
  problems.push(error.message);
}
if (problems.length > 0) {
  const note = document.createElement("p");
  note.textContent = embedRefused(problems.join(", "));
  document.body.append(note);
}
