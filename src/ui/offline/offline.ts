/** The page's side of its service worker: keeps page and model for use without a network, and offers newer versions. */
import { BUNDLED_MODEL } from "../word-loom/options";
import type { FromPage, ToPage } from "./messages";

/**
 * insecure and unsupported: the browser has none for this page · fetching: on its way · page: the page is kept, the model
 * not yet · all: both are.
 */
export type Kept = "insecure" | "unsupported" | "fetching" | "page" | "all" | { failed: string };

/** offered: it waits to be asked for · waits: for the texts that are being written · elsewhere: another tab has taken it. */
export type Update = "none" | "offered" | "waits" | "elsewhere";

/** Held, shared, by each tab that writes. A newer version takes over when it can have the lock for itself. */
const WRITING = "wordloom-writing";
const WRITING_ELEMENT = '[state="generating"]';
/** A page that stays open asks for a newer version so often, when it is looked at. */
const CHECK_INTERVAL_MS = 3_600_000;

/** Fires `change`. */
export class Offline extends EventTarget {
  #kept: Kept = "fetching";
  #update: Update = "none";
  #registration: ServiceWorkerRegistration | undefined;
  #release: (() => void) | undefined;
  #checkedAt = performance.now();

  get kept(): Kept {
    return this.#kept;
  }

  get update(): Update {
    return this.#update;
  }

  /**
   * Registers the service worker of the folder that the page is in.
   *
   * @param page what holds the elements, and hears of their events
   */
  async start(page: Document): Promise<void> {
    if (!isSecureContext) return this.#set({ kept: "insecure" });
    if (!("serviceWorker" in navigator)) return this.#set({ kept: "unsupported" });
    const { serviceWorker } = navigator;
    const before = serviceWorker.controller;
    serviceWorker.addEventListener("controllerchange", () => {
      if (this.#update === "waits") location.reload();
      else if (before) this.#set({ update: "elsewhere" });
    });
    this.#watchWriting(page);
    try {
      const registration = await serviceWorker.register(new URL("./service-worker.js", page.baseURI), {
        updateViaCache: "none",
      });
      // A browser that is told to have no service workers may answer with none.
      if (!(registration as ServiceWorkerRegistration | undefined)) return this.#set({ kept: "unsupported" });
      this.#follow(registration);
      await serviceWorker.ready;
      this.#set({ kept: "page" });
    } catch (error) {
      return this.#set({ kept: { failed: error instanceof Error ? error.message : String(error) } });
    }
    page.addEventListener("model-ready", ({ target }) => void this.#keepModel(target));
    for (const loom of page.querySelectorAll("word-loom")) if (loom.info) void this.#keepModel(loom);
    page.addEventListener("visibilitychange", () => void this.#check(page));
  }

  /** Lets the newer version take over, and loads the page anew, as soon as no tab is writing. */
  async useUpdate(): Promise<void> {
    this.#set({ update: "waits" });
    await navigator.locks.request(WRITING, async () => {
      const waiting = this.#registration?.waiting;
      if (!waiting) return location.reload(); // another tab was first
      this.#post(waiting, "use-now");
      await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve));
    });
  }

  #set(change: { kept?: Kept; update?: Update }): void {
    this.#kept = change.kept ?? this.#kept;
    this.#update = change.update ?? this.#update;
    this.dispatchEvent(new Event("change"));
  }

  #follow(registration: ServiceWorkerRegistration): void {
    this.#registration = registration;
    const offer = () => {
      // The first one of all waits for nobody.
      if (registration.waiting && registration.active && this.#update === "none") this.#set({ update: "offered" });
    };
    const watch = () => registration.installing?.addEventListener("statechange", offer);
    offer();
    watch();
    registration.addEventListener("updatefound", watch);
  }

  #watchWriting(page: Document): void {
    const look = () => {
      const isWriting = page.querySelector(WRITING_ELEMENT) !== null;
      if (isWriting && !this.#release) {
        const end = new Promise<void>((resolve) => (this.#release = resolve));
        void navigator.locks.request(WRITING, { mode: "shared" }, () => end);
      } else if (!isWriting) {
        this.#release?.();
        this.#release = undefined;
      }
    };
    new MutationObserver(look).observe(page, { subtree: true, attributeFilter: ["state"] });
    look();
  }

  /** The one that comes with the page, once it has been loaded: nobody else's visit pays for it. */
  async #keepModel(loom: EventTarget | null): Promise<void> {
    const { model } = loom as { model?: unknown }; // a <word-loom>
    if ((model ?? BUNDLED_MODEL) !== BUNDLED_MODEL || this.#kept === "all") return;
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise<ToPage>((resolve) => {
      port1.onmessage = ({ data }: MessageEvent<ToPage>) => resolve(data);
    });
    this.#post(this.#registration?.active, "keep-model", port2);
    const outcome = await answer;
    port1.close();
    this.#set({ kept: outcome === "kept" ? "all" : { failed: outcome } });
  }

  #post(worker: ServiceWorker | null | undefined, message: FromPage, port?: MessagePort): void {
    worker?.postMessage(message, port ? [port] : []);
  }

  async #check(page: Document): Promise<void> {
    if (page.visibilityState !== "visible" || performance.now() - this.#checkedAt < CHECK_INTERVAL_MS) return;
    this.#checkedAt = performance.now();
    try {
      await this.#registration?.update();
    } catch {
      // There is no network now; the next look asks again.
    }
  }
}

/** The one of this page. */
export const offline = new Offline();
