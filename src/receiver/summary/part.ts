/**
 * Decides how a terminal or a page colours a part. `name` is a title or the name of an event, `id` a user or group, and
 * `muted` a separator. `old` and `new` are the values before and after a change, with an `arrow` between them.
 */
export type SummaryRole =
  'name' | 'id' | 'key' | 'value' | 'old' | 'new' | 'arrow' | 'muted' | 'warning'

/** A piece of a summary that has one colour. */
export interface SummaryPart {
  readonly role: SummaryRole
  /** The text, safe for a terminal, with the spaces around it. */
  readonly text: string
}

/** Parts that belong together. A summary has a space between two phrases. */
export type Phrase = readonly SummaryPart[]

/** Joins the texts of a summary, without colours. */
export function summaryText(parts: readonly SummaryPart[]): string {
  return parts.map(({ text }) => text).join('')
}

/** Makes a part from a text that is already safe for a terminal. */
export function part(role: SummaryRole, text: string): SummaryPart {
  return { role, text }
}

const blank = part('muted', ' ')

/** Joins phrases with spaces. Skips empty phrases. */
export function joinPhrases(phrases: readonly Phrase[]): readonly SummaryPart[] {
  const parts: SummaryPart[] = []
  for (const phrase of phrases) {
    if (parts.length > 0 && phrase.length > 0) parts.push(blank)
    parts.push(...phrase)
  }
  return parts
}

/** Formats a title in quotation marks; an empty phrase if there is no title. */
export function title(text: string | undefined): Phrase {
  return text === undefined ? [] : [part('name', `“${text}”`)]
}

/** Formats the id of a user or group. */
export function id(text: string | undefined): SummaryPart {
  return text === undefined ? part('muted', '(unknown)') : part('id', text)
}

/** Formats `key=value`. Quotes empty text, and text with white space, quotes or `=`. Never quotes objects and lists. */
export function pair(key: string, value: string): Phrase {
  return [part('key', quoted(key)), part('muted', '='), part('value', quoted(value))]
}

/** Formats `key: before → after`, with quotes as in {@link pair}. */
export function change(key: string, before: string, after: string): Phrase {
  return [
    part('key', quoted(key)),
    part('muted', ': '),
    part('old', quoted(before)),
    part('arrow', ' → '),
    part('new', quoted(after)),
  ]
}

function quoted(text: string): string {
  return /^([^\s"=]+|[{[].*)$/s.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`
}
