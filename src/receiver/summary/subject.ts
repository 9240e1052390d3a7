import { shortText, type JsonObject } from '../../model/index.ts'
import type { SummaryMemory } from './memory.ts'
import { id, part, type Phrase } from './part.ts'
import { textOf } from './value-text.ts'

/**
 * The characters of an id or trait that are compared: more than are shown, so a late difference counts too.
 */
export const comparedCharacters = 128

/** Whose id it is; the same text can be an id of each. */
export type SubjectKind = 'userId' | 'anonymousId' | 'groupId'

/** Tells a user or group from all others by the id in a field; undefined where there is none. */
export function subjectOf(body: JsonObject, field: string, kind: SubjectKind): string | undefined {
  const text = textOf(body, field, comparedCharacters)
  return text === undefined ? undefined : `${kind} ${text}`
}

/** `(u_42)` where a user is known as another by now. */
export function knownAsPhrase(subject: string | undefined, memory: SummaryMemory): Phrase {
  if (subject === undefined) return []
  const known = memory.knownAs(subject)
  if (known === subject) return []
  const text = shortText(known.slice(known.indexOf(' ') + 1))
  return [part('muted', '('), id(text), part('muted', ')')]
}
