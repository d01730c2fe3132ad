import { html, nothing, type TemplateResult } from "lit";
import * as words from "../words/inspector-numbers";

/**
 * What a plot shows, as a table that unfolds.
 *
 * @param rows a part of `count` rows, where those are many
 */
export function tableTemplate(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  count: number,
): TemplateResult {
  return html`
    <details>
      <summary>${words.tableLabel()}</summary>
      <div class="scroll" tabindex="0" role="region" aria-label=${words.tableLabel()}>
        <table>
          ${
            rows.length < count
              ? html`<caption>
                  ${words.tableEvery(rows.length, count)}
                </caption>`
              : nothing
          }
          <thead>
            <tr>
              ${heads.map((head) => html`<th scope="col">${head}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${rows.map(
              (row) =>
                html`<tr>
                  ${row.map((cell) => html`<td>${cell}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  `;
}
