/**
 * The language of everything that a person reads. English is in the sources; `*.de.ts` beside them are fetched when
 * German is chosen. One copy of this module has one language, so all elements of a page share it.
 */
import { configureLocalization, updateWhenLocaleChanges, type LocaleModule } from "@lit/localize";
import type { ReactiveControllerHost } from "lit";

export type Language = "en" | "de";

/** Each by the name it has for itself. */
export const LANGUAGES: readonly { readonly code: Language; readonly name: string }[] = [
  { code: "en", name: "English" },
  { code: "de", name: "Deutsch" },
];

const STORED_CHOICE = "wordloom.language";

/** What the element alone says; a page sets `loadGerman` to more. */
let germanWords: () => Promise<LocaleModule> = () => import("./german-element");

const { getLocale, setLocale } = configureLocalization({
  sourceLocale: "en",
  targetLocales: LANGUAGES.map(({ code }) => code).filter((code) => code !== "en"),
  loadLocale: () => germanWords(),
});

/** Whether a page has chosen; then the element does not look for a language of its own. */
let isChosenByPage = false;
let ready: Promise<void> = Promise.resolve();

/** The language of what is shown now; also for Intl. */
export const language = (): Language => getLocale() as Language; // it knows no others

/** Resolves when the words of the chosen language are there, or could not be had and English stays. */
export const languageReady = (): Promise<void> => ready;

/**
 * "de-AT" → "de"; undefined for a language that there is not.
 *
 * @param tag as in `lang` or `navigator.languages`
 */
export function languageOf(tag: string | null | undefined): Language | undefined {
  const base = tag?.trim().toLowerCase().split(/[-_]/)[0];
  return LANGUAGES.find(({ code }) => code === base)?.code;
}

/**
 * The first that is known of: what the address asks, what the reader chose before, what the page says it is written in,
 * what the browser prefers; else English.
 */
export function chooseLanguage(wishes: {
  asked?: string | null | undefined;
  stored?: string | null | undefined;
  declared?: string | null | undefined;
  preferred?: readonly string[];
}): Language {
  const { asked, stored, declared, preferred = [] } = wishes;
  for (const tag of [asked, stored, declared, ...preferred]) {
    const found = languageOf(tag);
    if (found !== undefined) return found;
  }
  return "en";
}

/**
 * Shows everything in that language from the next render on.
 *
 * @throws what fetching the words failed with; the former language then stays
 */
export async function useLanguage(next: Language): Promise<void> {
  const change = setLocale(next);
  ready = change.catch(() => undefined); // who asked for the change hears of it
  await change;
}

/**
 * For a page of its own: chooses by `?lang=`, the reader's stored choice and the browser's languages, and keeps
 * `<html lang>` in step. Call it before the first render, and wait for `languageReady` there.
 *
 * @param german everything that the page may say
 */
export function startPageLanguage(german: () => Promise<LocaleModule>): void {
  germanWords = german;
  isChosenByPage = true;
  const chosen = chooseLanguage({
    asked: new URLSearchParams(location.search).get("lang"),
    stored: storedChoice(),
    preferred: navigator.languages,
  });
  ready = useLanguage(chosen)
    .catch((error: unknown) => console.warn(`Wordloom stays in English: ${String(error)}`))
    .then(() => void (document.documentElement.lang = language()));
}

/** The reader's own choice: shown at once, kept for the next visit, and stronger than what the address asked. */
export async function keepLanguage(next: Language): Promise<void> {
  await useLanguage(next);
  document.documentElement.lang = language();
  try {
    localStorage.setItem(STORED_CHOICE, next);
  } catch {
    // storage is full or forbidden: the choice holds for this visit
  }
  const address = new URL(location.href);
  if (!address.searchParams.has("lang")) return;
  address.searchParams.delete("lang");
  history.replaceState(history.state, "", address);
}

function storedChoice(): string | null {
  try {
    return localStorage.getItem(STORED_CHOICE);
  } catch {
    return null; // forbidden, as in a sandboxed frame
  }
}

/**
 * Renders `host` anew when the language changes, and chooses one by the nearest `lang` round it, or the browser's, as
 * soon as it is connected, unless the page has chosen. A later change of `<html lang>` is followed.
 */
export function followLanguage(host: ReactiveControllerHost & Element): void {
  updateWhenLocaleChanges(host);
  let observer: MutationObserver | undefined;
  const follow = () => {
    if (isChosenByPage) return;
    const declared = declaredLanguage(host);
    useLanguage(chooseLanguage({ declared, preferred: declared === undefined ? navigator.languages : [] })).catch(
      (error: unknown) => console.warn(`<${host.localName}> stays in ${language()}: ${String(error)}`),
    );
  };
  host.addController({
    hostConnected() {
      follow();
      observer = new MutationObserver(follow);
      observer.observe(document.documentElement, { attributeFilter: ["lang"] });
    },
    hostDisconnected: () => observer?.disconnect(),
  });
}

/** The `lang` that holds for an element, also where it stands in somebody's shadow root. */
function declaredLanguage(element: Element): string | undefined {
  const withLang = element.closest("[lang]");
  if (withLang) return withLang.getAttribute("lang") || undefined;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? declaredLanguage(root.host) : undefined;
}

const numberFormats = new Map<string, Intl.NumberFormat>();

/** A number in the words of the language: 10.4, or 10,4. Up to `decimals` digits behind the point, exactly so many if fixed. */
export function formatNumber(value: number, decimals: number, { fixed = false } = {}): string {
  const key = `${language()} ${decimals} ${fixed}`;
  let format = numberFormats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(language(), {
      minimumFractionDigits: fixed ? decimals : 0,
      maximumFractionDigits: decimals,
      useGrouping: false,
    });
    numberFormats.set(key, format);
  }
  return format.format(value);
}

/** "today", "yesterday", "12 days ago", in the language. */
export function formatDay(date: Date, now = new Date()): string {
  const midnight = (time: Date) => new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
  const days = Math.round((midnight(date) - midnight(now)) / 86_400_000);
  return new Intl.RelativeTimeFormat(language(), { numeric: "auto" }).format(days, "day");
}
