import { shortText, type JsonObject } from '../../model/index.ts'
import type { SummaryMemory } from './memory.ts'
import { id, part, type Phrase } from './part.ts'
import { textOf } from './value-text.ts'

/** How many characters of an id or trait to compare: more than are shown, so that later differences count, too. */
export const comparedCharacters = 128

/** The kind of an id. The same text can be an id of several kinds. */
export type SubjectKind = 'userId' | 'anonymousId' | 'groupId'

/** Returns a unique name of a user or group, from the id in a field; undefined if there is no id. */
export function subjectOf(body: JsonObject, field: string, kind: SubjectKind): string | undefined {
  const text = textOf(body, field, comparedCharacters)
  return text === undefined ? undefined : `${kind} ${text}`
}

/** Formats `(u_42)` if a user has been aliased to `u_42`; else empty. */
export function knownAsPhrase(subject: string | undefined, memory: SummaryMemory): Phrase {
  if (subject === undefined) return []
  const known = memory.knownAs(subject)
  if (known === subject) return []
  const text = shortText(known.slice(known.indexOf(' ') + 1))
  return [part('muted', '('), id(text), part('muted', ')')]
}
