import { shortText, type JsonObject } from '../../model/index.ts'
import type { SeenTrait, SummaryMemory } from './memory.ts'
import { change, id, pair, part, type Phrase } from './part.ts'
import { objectOf, textOf, valueText } from './value-text.ts'

/** Further traits are only counted. */
const shownTraitsMax = 4
/** Maximum characters of an id or trait to compare. A summary shows fewer. */
const comparedCharactersMax = 128
/** A trait is a membership only if `computation_class` has one of these values. */
const audienceClasses: readonly unknown[] = ['audience', 'journey_step']

/**
 * Formats `plan: free → pro email=ada@example.com`. Begins with `(u_42)` if the user has been aliased to `u_42`, and
 * with `entered big_spenders` for a computed audience.
 */
export function identifyPhrases(body: JsonObject, memory: SummaryMemory): readonly Phrase[] {
  const user = subjectOf(body, 'userId', 'userId') ?? subjectOf(body, 'anonymousId', 'anonymousId')
  const audience = audienceOf(body)
  const traits = objectOf(body, 'traits')
  return [
    knownAsPhrase(user, memory),
    audience === undefined ? [] : membershipPhrase(user, audience, memory),
    ...traitPhrases(user, withoutField(traits, audience?.key), memory),
  ]
}

/** Summarises a group call, as in `u_1 in acme (Acme Inc) "total billed"=830`. */
export function groupPhrases(body: JsonObject, memory: SummaryMemory): readonly Phrase[] {
  const traits = objectOf(body, 'traits')
  const name = textOf(traits, 'name')
  const others = withoutField(traits, name && 'name')
  return [
    [id(textOf(body, 'userId') ?? textOf(body, 'anonymousId'))],
    [part('muted', 'in '), id(textOf(body, 'groupId'))],
    name === undefined ? [] : [part('name', `(${name})`)],
    ...traitPhrases(subjectOf(body, 'groupId', 'groupId'), others, memory),
  ]
}

/** Formats `anon_9 → u_42`; `anon_9 → u_42 (u_43)` if `u_42` has been aliased to `u_43`. */
export function aliasPhrases(body: JsonObject, memory: SummaryMemory): readonly Phrase[] {
  const previous = textOf(body, 'Previous ID') === undefined ? 'previousId' : 'Previous ID'
  const next = textOf(body, 'User ID') === undefined ? 'userId' : 'User ID'
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

/** Makes a unique name of a user or group from an id. The same text can be an id of several kinds. */
function subjectOf(
  body: JsonObject,
  field: string,
  kind: 'userId' | 'anonymousId' | 'groupId',
): string | undefined {
  const text = textOf(body, field, comparedCharactersMax)
  return text === undefined ? undefined : `${kind} ${text}`
}

/** Formats `(u_42)` if a user has been aliased to `u_42`. */
function knownAsPhrase(subject: string | undefined, memory: SummaryMemory): Phrase {
  if (subject === undefined) return []
  const known = memory.knownAs(subject)
  if (known === subject) return []
  const text = shortText(known.slice(known.indexOf(' ') + 1))
  return [part('muted', '('), id(text), part('muted', ')')]
}

interface Membership {
  /** The name of the audience. Its trait has the same name. */
  readonly key: string
  readonly isMember: boolean
}

/** Reads the membership in a computed audience: `context.personas` names the trait, which is true or false. */
function audienceOf(body: JsonObject): Membership | undefined {
  const personas = objectOf(objectOf(body, 'context'), 'personas')
  const { computation_class: computed, computation_key: key } = personas
  if (!audienceClasses.includes(computed) || typeof key !== 'string') return undefined
  const value = objectOf(body, 'traits')[key]
  return typeof value === 'boolean' ? { key, isMember: value } : undefined
}

/** Returns a text such as `entered big_spenders` or `left big_spenders`; with `in` or `not in` if nothing changed. */
function membershipPhrase(
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

/** Formats a subject's traits: first changed ones, then new ones, then unchanged ones. */
function traitPhrases(
  subject: string | undefined,
  traits: JsonObject,
  memory: SummaryMemory,
): readonly Phrase[] {
  const texts = Object.entries(traits).map(([key, value]) => ({
    key: shortText(key),
    text: valueText(value, comparedCharactersMax),
    before: undefined,
  }))
  const seen = subject === undefined ? texts : memory.see(subject, texts)
  const shown = seen.toSorted((one, other) => rank(one) - rank(other)).slice(0, shownTraitsMax)
  const more = seen.length - shown.length
  return [...shown.map(traitPhrase), more === 0 ? [] : [part('muted', `+${more} more`)]]
}

function rank({ before, text }: SeenTrait): number {
  if (before === undefined) return 1
  return before === text ? 2 : 0
}

function traitPhrase({ key, text, before }: SeenTrait): Phrase {
  return before === undefined || before === text
    ? pair(key, shortText(text))
    : change(key, shortText(before), shortText(text))
}

function withoutField(object: JsonObject, field: string | undefined): JsonObject {
  if (field === undefined) return object
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== field))
}
