import { localized } from "@lit/localize";
import { LitElement, html } from "lit";
import { customElement } from "lit/decorators.js";
import { insecureHere, insecureRemedies, insecureTitle } from "../words/offline";

/**
 * Why a page that came from http://192.168.… can do so little, and what to do. It renders into the document, for the
 * page's style sheet.
 */
@customElement("wordloom-insecure-note")
@localized()
export class InsecureNote extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override render() {
    const { origin, hostname, port } = location;
    const atHome = `http://localhost:${port || "80"}`;
    const tunnel = `ssh -L ${port || "8080"}:localhost:${port || "80"} ${hostname}`;
    return html`
      <div class="note" role="note">
        <p><b>${insecureTitle()}</b> ${insecureHere(origin)}</p>
        <ul>
          ${insecureRemedies({ atHome, tunnel, here: `http://localhost:${port || "8080"}` }).map(
            (remedy) => html`<li>${remedy}</li>`,
          )}
        </ul>
      </div>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "wordloom-insecure-note": InsecureNote;
  }
}
