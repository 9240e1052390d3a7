import { shortText, type JsonObject } from '../../model/index.ts'
import type { SummaryMemory } from './memory.ts'
import { part, type Phrase } from './part.ts'
import { objectOf } from './value-text.ts'

/** The membership of a user in an audience, from an identify call. */
export interface Membership {
  /** The audience's name, which is the key of its trait. */
  readonly key: string
  /** Whether the user is a member. */
  readonly isMember: boolean
}

/** Computation classes whose trait is a membership. The class `trait` may have any value. */
const audienceClasses: readonly unknown[] = ['audience', 'journey_step']

/**
 * Reads the membership in a computed audience: `context.personas` names the trait, whose value is true or false.
 * Undefined for any other call.
 */
export function audienceOf(body: JsonObject): Membership | undefined {
  const personas = objectOf(objectOf(body, 'context'), 'personas')
  const { computation_class: computed, computation_key: key } = personas
  if (!audienceClasses.includes(computed) || typeof key !== 'string') return undefined
  const value = objectOf(body, 'traits')[key]
  return typeof value === 'boolean' ? { key, isMember: value } : undefined
}

/** Formats `entered big_spenders` or `left big_spenders`; `in` or `not in` if nothing changed. */
export function membershipPhrase(
  user: string | undefined,
  { key, isMember }: Membership,
  memory: SummaryMemory,
): Phrase {
  const name = shortText(key)
  const text = String(isMember)
  const before = user === undefined ? undefined : memory.see(user, [{ key: name, text }])[0]?.before
  const isKnown = before === text
  return isMember
    ? [part('muted', isKnown ? 'in ' : 'entered '), part('new', name)]
    : [part('muted', isKnown ? 'not in ' : 'left '), part('old', name)]
}
