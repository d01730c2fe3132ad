/** What the page loads when all else is there: its service worker, and what tells of it. */
import { offline } from "./offline";
import "./offline-status";
import "./update-offer";

void offline.start(document);
