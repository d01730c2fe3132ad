/** A worker without a thread, for tests in Node: a host at the other end of a real message channel. */
import { Host, type LoadEngine } from "../worker/host";
import type { Message } from "../worker/messages";
import type { WorkerLike } from "../worker/client";

export class PortWorker implements WorkerLike {
  /** What the host sent, as it was received. */
  readonly received: Message[] = [];
  terminated = false;
  readonly #channel = new MessageChannel();
  readonly #faults = new EventTarget();

  /** @param load undefined: it never greets, as a worker whose script does not run */
  constructor(load: LoadEngine | undefined) {
    const { port1, port2 } = this.#channel;
    port1.addEventListener("message", ({ data }: MessageEvent<Message>) => this.received.push(data));
    if (load) new Host(port2, load);
    port2.start();
  }

  postMessage(message: Message, options: { transfer: Transferable[] }): void {
    this.#channel.port1.postMessage(message, options);
  }

  addEventListener(type: string, listener: ((event: MessageEvent<Message>) => void) | ((event: Event) => void)): void {
    // As overloaded in WorkerLike: the listener's event is that of its type.
    if (type === "message") {
      this.#channel.port1.addEventListener("message", listener);
      this.#channel.port1.start();
    } else {
      this.#faults.addEventListener(type, listener as (event: Event) => void);
    }
  }

  terminate(): void {
    this.terminated = true;
    this.#channel.port1.close();
    this.#channel.port2.close();
  }

  /** What the browser fires when the worker's code throws, or its script is refused. */
  crash(message: string): void {
    this.#faults.dispatchEvent(Object.assign(new Event("error", { cancelable: true }), { message }));
  }
}
