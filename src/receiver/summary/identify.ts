import type { JsonObject } from '../../model/index.ts'
import type { SummaryMemory } from './memory.ts'
import type { Phrase } from './part.ts'
import { subjectOf, traitPhrases } from './traits.ts'
import { objectOf } from './value-text.ts'

/** `plan: free → pro email=ada@example.com`. */
export function identifyPhrases(body: JsonObject, memory: SummaryMemory): readonly Phrase[] {
  const user = subjectOf(body, 'userId') ?? subjectOf(body, 'anonymousId')
  return traitPhrases(user, objectOf(body, 'traits'), memory)
}
