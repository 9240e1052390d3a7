/**
 * The role of a part of a summary, so that a terminal or a page can colour it: `name` a title or the name of
 * an event, `id` a user or group, `old` and `new` the sides of a change with an `arrow` between them, `muted`
 * a separator.
 */
export type SummaryRole =
  'name' | 'id' | 'key' | 'value' | 'old' | 'new' | 'arrow' | 'muted' | 'warning'

/** A piece of a summary. Its text is plain and includes the blanks around it. */
export interface SummaryPart {
  /** The role. */
  readonly role: SummaryRole
  /** What to print, safe for a terminal. */
  readonly text: string
}

/** Parts that belong together; blanks separate it from the next. */
export type Phrase = readonly SummaryPart[]

/** The summary as text: the parts one after the other. */
export function summaryText(parts: readonly SummaryPart[]): string {
  return parts.map(({ text }) => text).join('')
}

/** Makes a part. */
export function part(role: SummaryRole, text: string): SummaryPart {
  return { role, text }
}

const blank = part('muted', ' ')

/** Puts phrases in a row; empty ones leave no gap. */
export function joinPhrases(phrases: readonly Phrase[]): readonly SummaryPart[] {
  const parts: SummaryPart[] = []
  for (const phrase of phrases) {
    if (parts.length > 0 && phrase.length > 0) parts.push(blank)
    parts.push(...phrase)
  }
  return parts
}

/** A title in quotation marks; nothing where there is none. */
export function title(text: string | undefined): Phrase {
  return text === undefined ? [] : [part('name', `“${text}”`)]
}

/** A user or group by its id. */
export function id(text: string | undefined): SummaryPart {
  return text === undefined ? part('muted', '(unknown)') : part('id', text)
}

/** `key=value`; either is quoted where blanks or signs in it would mislead. */
export function pair(key: string, value: string): Phrase {
  return [part('key', quoted(key)), part('muted', '='), part('value', quoted(value))]
}

/** `key: before → after`, quoted like a pair. */
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
  return /^[^\s"=]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`
}
