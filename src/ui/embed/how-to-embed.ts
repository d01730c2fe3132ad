import { html, type TemplateResult } from "lit";
import * as words from "../words/embed";
import { snippetsFor, type EmbeddedSettings } from "./snippets";

/**
 * "How to embed": for the present settings, what to write into a page of one's own, and the policy it needs. It has no
 * styles; the page's own act on `section.embed`, its headings, `pre` and `.policy`.
 *
 * @param site as for `snippetsFor`
 * @param headingLevel of its two headings
 */
export function howToEmbed(settings: EmbeddedSettings, site: string, headingLevel = 3): TemplateResult {
  const { script, scriptPolicy, frame, framePolicy } = snippetsFor(settings, site);
  return html`
    <section class="embed">
      ${part(words.embedByScript(), words.aboutScript(), script, scriptPolicy, headingLevel)}
      ${part(words.embedByFrame(), words.aboutFrame(), frame, framePolicy, headingLevel)}
    </section>
  `;
}

function part(title: string, about: string, snippet: string, policy: string, level: number): TemplateResult {
  return html`
    <div role="heading" aria-level=${level} class="embed-title">${title}</div>
    <p>${about}</p>
    <pre tabindex="0" aria-label=${title}><code>${snippet}</code></pre>
    <button type="button" class="quiet" @click=${(event: Event) => void copy(event, snippet)}>${words.copy()}</button>
    <p class="policy">${words.policy()} <code>${policy}</code></p>
  `;
}

/** Where the clipboard is refused, the text is selected, so that the reader can copy it. */
async function copy({ currentTarget }: Event, snippet: string): Promise<void> {
  const button = currentTarget as HTMLButtonElement; // the listener is on it
  try {
    await navigator.clipboard.writeText(snippet);
    button.textContent = words.copied();
  } catch {
    const code = button.previousElementSibling;
    if (code) getSelection()?.selectAllChildren(code);
  }
}
