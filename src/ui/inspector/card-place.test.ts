import { expect, test } from "vitest";
import { placeOf } from "./card-place";

test.each([
  ["beside the text, on the roomier side", { left: 300, right: 310 }, { kind: "end", width: 294 }],
  ["on the left where the right is taken", { left: 304, right: 0 }, { kind: "start", width: 288 }],
  ["no wider than it needs", { left: 900, right: 900 }, { kind: "end", width: 400 }],
  ["as a sheet where both sides are narrow", { left: 287, right: 287 }, { kind: "sheet" }],
])("the card stands %s", (_, room, place) => expect(placeOf(room)).toEqual(place));
