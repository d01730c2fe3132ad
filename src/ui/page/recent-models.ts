/**
 * Which models were used here before: their addresses, and when, in localStorage under "wordloom.recent". Where that is
 * full or forbidden nothing is remembered, and nothing else is lost.
 */

export interface RecentModel {
  source: string;
  usedAt: Date;
}

const PLACE = "wordloom.recent";
const LIMIT = 8;

/** Last used first. */
export function recentModels(): RecentModel[] {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    if (!Array.isArray(read)) return [];
    return (read as unknown[]).flatMap((each) => {
      const [source, usedAt] = Array.isArray(each) ? (each as unknown[]) : [];
      const isOne =
        typeof source === "string" && typeof usedAt === "number" && !Number.isNaN(new Date(usedAt).getTime());
      return isOne ? [{ source, usedAt: new Date(usedAt) }] : [];
    });
  } catch {
    return []; // forbidden, or not ours
  }
}

export function rememberModel(source: string, usedAt = new Date()): void {
  keep([{ source, usedAt }, ...recentModels().filter((each) => each.source !== source)].slice(0, LIMIT));
}

export function forgetModel(source: string): void {
  keep(recentModels().filter((each) => each.source !== source));
}

function keep(models: readonly RecentModel[]): void {
  try {
    localStorage.setItem(PLACE, JSON.stringify(models.map(({ source, usedAt }) => [source, usedAt.getTime()])));
  } catch {
    // full or forbidden, as said above
  }
}
