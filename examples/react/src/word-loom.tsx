import { createComponent, type EventName } from "@lit/react";
import React from "react";
import { WordLoom as WordLoomElement, type WordLoomEventMap } from "wordloom/element";

const event = <Name extends keyof WordLoomEventMap>(name: Name) => name as EventName<WordLoomEventMap[Name]>;

/** `<word-loom>` as a component: properties by their names, events as functions. */
export const WordLoom = createComponent({
  react: React,
  tagName: "word-loom",
  elementClass: WordLoomElement,
  events: {
    onToken: event("generated-token"),
    onEnd: event("generation-end"),
    onError: event("generation-error"),
  },
});
