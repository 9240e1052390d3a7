/** A line on top of every generated page. */
export const generatedNotice =
  '<!-- Made by `npm run docs:reference` from the code. Edit the code, then run it again. -->'

/** Rows below a heading row, as a table. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map(() => '---'), ...rows.map((row) => row.map(cell))]
  return lines.map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** Text as code. */
export function code(text: string): string {
  return `\`${text}\``
}

/** Parts of a page with an empty line between them. */
export function page(parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}

/** A cell ends at a bar, in code too. A placeholder such as <url> is an element, but for code. */
function cell(text: string): string {
  const parts = text.replaceAll('|', '\\|').replaceAll('\n', ' ').split('`')
  return parts.map((part, index) => (index % 2 === 0 ? escapeHtml(part) : part)).join('`')
}

/** Text with its placeholders kept from being elements. */
export function escapeHtml(text: string): string {
  return text.replaceAll('<', '&lt;')
}
