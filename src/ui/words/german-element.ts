/** The German of what the element says. */
import type { LocaleModule } from "@lit/localize";

type Templates = LocaleModule["templates"];

const areas = import.meta.glob<Templates>("./element*.de.ts", { eager: true, import: "templates" });

export const templates: Templates = Object.fromEntries(Object.values(areas).flatMap((area) => Object.entries(area)));
