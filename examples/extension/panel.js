/* global chrome, document -- this runs in an extension's page */
import "wordloom/element";

const loom = document.querySelector("word-loom");

/** Writes on from words that were selected in a page. */
const begin = (beginning) => beginning && loom.generate(beginning);

begin((await chrome.storage.session.get("beginning")).beginning);
chrome.storage.session.onChanged.addListener(({ beginning }) => begin(beginning?.newValue));
