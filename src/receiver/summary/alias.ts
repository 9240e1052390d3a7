import type { JsonObject } from '../../model/index.ts'
import type { SummaryMemory } from './memory.ts'
import { id, part, type Phrase } from './part.ts'
import { knownAsPhrase, subjectOf } from './subject.ts'
import { textOf } from './value-text.ts'

/** Formats `anon_9 → u_42`; `anon_9 → u_42 (u_43)` if `u_42` has been aliased to `u_43`. */
export function aliasPhrases(body: JsonObject, memory: SummaryMemory): readonly Phrase[] {
  const previous = fieldOf(body, ['Previous ID', 'previousId'])
  const next = fieldOf(body, ['User ID', 'userId'])
  const user = subjectOf(body, next, 'userId')
  if (user !== undefined) {
    // The previous id may belong to a visitor or a user.
    for (const kind of ['anonymousId', 'userId'] as const) {
      const before = subjectOf(body, previous, kind)
      if (before !== undefined) memory.alias(before, user)
    }
  }
  const ids = [id(textOf(body, previous)), part('arrow', ' → '), id(textOf(body, next))]
  return [ids, knownAsPhrase(user, memory)]
}

/** Returns the first of the fields that has an id; the second if neither has one. */
function fieldOf(body: JsonObject, [first, second]: readonly [string, string]): string {
  return textOf(body, first) === undefined ? second : first
}
