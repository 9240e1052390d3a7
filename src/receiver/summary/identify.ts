import type { JsonObject } from '../../model/index.ts'
import { audienceOf, membershipPhrase } from './audience.ts'
import type { SummaryMemory } from './memory.ts'
import type { Phrase } from './part.ts'
import { knownAsPhrase, subjectOf } from './subject.ts'
import { traitPhrases } from './traits.ts'
import { objectOf } from './value-text.ts'

/**
 * `plan: free → pro email=ada@example.com`; of a user that is known as another by now `(u_42)` first,
 * of a member of a computed audience `entered big_spenders`.
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
