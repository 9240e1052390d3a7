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

/**
 * Escapes bars, which end a cell even in code, and placeholders such as <url>, which are elements outside
 * code.
 */
function cell(text: string): string {
  const parts = text.replaceAll('|', '\\|').replaceAll('\n', ' ').split('`')
  return parts.map((part, index) => (index % 2 === 0 ? escapeHtml(part) : part)).join('`')
}

/** Escapes placeholders such as <url>, which would be elements. */
export function escapeHtml(text: string): string {
  return text.replaceAll('<', '&lt;')
}
