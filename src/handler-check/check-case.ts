import { eventTypes, nearestName, SettingError, type EventType } from '../model/index.ts'
import { signBody } from '../webhook/index.ts'
import { refusedCases, wrongSecret } from './refused-cases.ts'
import { webhookText } from './sample-webhook.ts'
import { takenCases } from './taken-cases.ts'

/** The reaction of a correct handler: `taken` is a status 2xx, `refused` a final refusal such as 401. */
export type ExpectedReaction = 'taken' | 'refused'

/** One webhook of a check. */
export interface CheckCase {
  /** The name of the case, such as `altered-byte`. */
  readonly id: string
  /** A description that completes "a webhook ...". */
  readonly about: string
  /** The reaction of a correct handler. */
  readonly expected: ExpectedReaction
  /** The type of the webhook. */
  readonly type: EventType
  /** The body, byte for byte. */
  readonly body: string
  /** The value of X-Signature; undefined to send none. */
  readonly signature: string | undefined
  /** Headers that only this case has. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The parameters from which the cases of a check are made. */
export interface CaseParts {
  /** The shared secret of the handler. */
  readonly secret: string
  /** The types that the handler accepts; all seven by default. */
  readonly types?: readonly EventType[] | undefined
  /** The cases to send; all by default. */
  readonly only?: readonly string[] | undefined
  /** A unique id, so that the messageIds of different checks differ. */
  readonly id: string
  /** The time of the check, in milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * Makes the webhooks of a check: first those that a correct handler accepts, then those that it refuses. One type
 * gets all cases: `track`, or the first type if `track` is left out. Every other type gets a valid and a forged
 * webhook.
 *
 * @throws SettingError for an unknown case
 */
export function checkCases(parts: CaseParts): readonly CheckCase[] {
  const { types = eventTypes, only } = parts
  const main = types.includes('track') || types[0] === undefined ? 'track' : types[0]
  const others = types.filter((type, index) => type !== main && types.indexOf(type) === index)
  const textOf = (type: EventType, id: string): string =>
    webhookText({ type, messageId: `check-${parts.id}-${id}`, nowMs: parts.nowMs })
  const cases = [
    ...takenCases(main, parts),
    ...others.map((type) => rightCase(type, textOf(type, `type-${type}`), parts.secret)),
    ...refusedCases({ type: main, text: textOf(main, 'refused'), secret: parts.secret }),
    ...others.map((type) => forgedCase(type, textOf(type, `forged-${type}`))),
  ]
  return only === undefined ? cases : selected(cases, only)
}

function rightCase(type: EventType, body: string, secret: string): CheckCase {
  const signature = signBody(body, secret)
  return { id: `type-${type}`, about: `of type ${type}`, expected: 'taken', type, body, signature }
}

function forgedCase(type: EventType, body: string): CheckCase {
  const signature = signBody(body, wrongSecret)
  const about = `of type ${type}, wrongly signed`
  return { id: `forged-${type}`, about, expected: 'refused', type, body, signature }
}

function selected(cases: readonly CheckCase[], only: readonly string[]): readonly CheckCase[] {
  const ids = cases.map(({ id }) => id)
  const unknown = only.find((id) => !ids.includes(id))
  if (unknown === undefined) return cases.filter(({ id }) => only.includes(id))
  const near = nearestName(unknown, ids)
  const hint = near === undefined ? '' : `Did you mean ${near}? `
  throw new SettingError(
    'only',
    `Cannot send the case "${unknown}": no such case exists`,
    `${hint}\`evroute check --list\` lists all cases.`,
  )
}
