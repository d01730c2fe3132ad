/* global chrome, getSelection -- this runs as an extension's service worker */
// The toolbar's button opens the panel, and the words selected in the page become the beginning of the text.
chrome.action.onClicked.addListener(async (tab) => {
  await chrome.sidePanel.open({ tabId: tab.id });
  const selected = { target: { tabId: tab.id }, func: () => String(getSelection()) };
  const [{ result }] = await chrome.scripting.executeScript(selected);
  if (result) await chrome.storage.session.set({ beginning: result });
});
