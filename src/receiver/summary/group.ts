import type { JsonObject } from '../../model/index.ts'
import type { SummaryMemory } from './memory.ts'
import { id, part, type Phrase } from './part.ts'
import { subjectOf } from './subject.ts'
import { traitPhrases } from './traits.ts'
import { objectOf, textOf } from './value-text.ts'

/** Formats `u_1 in acme (Acme Inc) "total billed"=830`. */
export function groupPhrases(body: JsonObject, memory: SummaryMemory): readonly Phrase[] {
  const traits = objectOf(body, 'traits')
  const name = textOf(traits, 'name')
  const others = name === undefined ? traits : withoutName(traits)
  return [
    [id(textOf(body, 'userId') ?? textOf(body, 'anonymousId'))],
    [part('muted', 'in '), id(textOf(body, 'groupId'))],
    name === undefined ? [] : [part('name', `(${name})`)],
    ...traitPhrases(subjectOf(body, 'groupId', 'groupId'), others, memory),
  ]
}

function withoutName(traits: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(traits).filter(([key]) => key !== 'name'))
}
