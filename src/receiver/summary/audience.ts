import { shortText, type JsonObject } from '../../model/index.ts'
import type { SummaryMemory } from './memory.ts'
import { part, type Phrase } from './part.ts'
import { objectOf } from './value-text.ts'

/** A membership that an identify call tells. */
export interface Membership {
  /** The audience's name: the key of its trait. */
  readonly key: string
  /** Whether the user is a member. */
  readonly isMember: boolean
}

/** What computes memberships; a computed trait is of the class `trait` and may have any value. */
const audienceClasses: readonly unknown[] = ['audience', 'journey_step']

/**
 * The membership of a computed audience: `context.personas` names the trait, whose value is true or
 * false; undefined where the call is of another kind.
 */
export function audienceOf(body: JsonObject): Membership | undefined {
  const personas = objectOf(objectOf(body, 'context'), 'personas')
  const { computation_class: computed, computation_key: key } = personas
  if (!audienceClasses.includes(computed) || typeof key !== 'string') return undefined
  const value = objectOf(body, 'traits')[key]
  return typeof value === 'boolean' ? { key, isMember: value } : undefined
}

/** `entered big_spenders`, `left big_spenders`; `in` or `not in` where this was known. */
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
