import type { JsonObject } from '../../model/index.ts'
import { audienceOf, membershipPhrase } from './audience.ts'
import type { SummaryMemory } from './memory.ts'
import type { Phrase } from './part.ts'
import { knownAsPhrase, subjectOf } from './subject.ts'
import { traitPhrases } from './traits.ts'
import { objectOf } from './value-text.ts'

/**
 * Formats `plan: free → pro email=ada@example.com`. Begins with `(u_42)` if the user has been aliased to `u_42`, and
 * with `entered big_spenders` for a computed audience.
 */
export function identifyPhrases(body: JsonObject, memory: SummaryMemory): readonly Phrase[] {
  const user = subjectOf(body, 'userId', 'userId') ?? subjectOf(body, 'anonymousId', 'anonymousId')
  const audience = audienceOf(body)
  const traits = objectOf(body, 'traits')
  const others =
    audience === undefined
      ? traits
      : Object.fromEntries(Object.entries(traits).filter(([key]) => key !== audience.key))
  return [
    knownAsPhrase(user, memory),
    audience === undefined ? [] : membershipPhrase(user, audience, memory),
    ...traitPhrases(user, others, memory),
  ]
}
