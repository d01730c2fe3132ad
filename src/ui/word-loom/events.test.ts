import { expectTypeOf, test } from "vitest";
import type { AnyTextGenerator, GenerationEnd, LoadProgress, WordloomErrorCode } from "../../index";
import type { WordLoom, WordLoomEventMap } from "../../element";

/**
 * What tsc says of these is the test; nothing of an element runs here.
 */
function listen(loom: WordLoom): void {
  loom.addEventListener("generated-token", function (event) {
    expectTypeOf(this).toEqualTypeOf<WordLoom>();
    expectTypeOf(event.detail.text).toEqualTypeOf<string>();
    expectTypeOf(event.detail.tokens[0]).toExtend<{ text: string; logprob?: number | undefined } | undefined>();
  });
  loom.addEventListener("generation-end", ({ detail }) => expectTypeOf(detail).toEqualTypeOf<GenerationEnd>(), true);
  loom.addEventListener("generation-error", ({ detail }) => {
    expectTypeOf(detail.code).toEqualTypeOf<WordloomErrorCode>();
    expectTypeOf(detail.remedy).toEqualTypeOf<string>();
  });
  loom.addEventListener("model-ready", ({ detail }) => expectTypeOf(detail).toEqualTypeOf<AnyTextGenerator["info"]>());
  loom.addEventListener("model-progress", ({ detail }) => expectTypeOf(detail).toEqualTypeOf<LoadProgress>(), {
    once: true,
  });
  loom.addEventListener("model-dropped", ({ detail }) => expectTypeOf(detail).toEqualTypeOf<File[]>());
  loom.addEventListener("click", (event) => expectTypeOf(event).toEqualTypeOf<PointerEvent>());
  loom.addEventListener("of-the-page", (event) => expectTypeOf(event).toEqualTypeOf<Event>());

  const onEnd = (event: WordLoomEventMap["generation-end"]) => event.detail.finishReason;
  loom.addEventListener("generation-end", onEnd);
  loom.removeEventListener("generation-end", onEnd);
  // @ts-expect-error -- a listener for the end of a run is none for a failure
  loom.addEventListener("generation-error", onEnd);
}

test("each event of <word-loom> has the type of its detail, and other events keep theirs", () => {
  expectTypeOf(listen).parameter(0).toEqualTypeOf<HTMLElementTagNameMap["word-loom"]>();
});
