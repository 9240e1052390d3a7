import { eventTypes, nearestName, SettingError, type EventType } from '../model/index.ts'
import { signBody } from '../webhook/index.ts'
import type { HandlerCheckOptions } from './check-handler.ts'
import { refusedCases, wrongSecret } from './refused-cases.ts'
import { webhookText } from './sample-webhook.ts'
import { takenCases } from './taken-cases.ts'

/** A webhook of a check, and the reaction that it must get. */
export interface CheckCase {
  /** The name of the case, such as `altered-byte`. */
  readonly id: string
  /** A description that completes "a webhook ...". */
  readonly about: string
  /** The reaction of a correct handler: `taken` is a 2xx status, `refused` a final refusal such as 401. */
  readonly expected: 'taken' | 'refused'
  readonly type: EventType
  readonly body: string
  /** The value of X-Signature; undefined to send none. */
  readonly signature: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** The body in parts, which are sent as separate packets; all at once by default. */
  readonly parts?: readonly Buffer[]
}

/** What {@link checkCases} makes webhooks from. */
export interface CaseParts extends Pick<HandlerCheckOptions, 'secret' | 'types' | 'only'> {
  readonly id: string
  readonly nowMs: number
}

/**
 * Makes the webhooks of a check: first those that a correct handler accepts, then those that it refuses. One type gets
 * every case: `track`, or the first of `types` if `track` is not among them. Each other type gets one valid and one
 * forged webhook.
 *
 * @throws SettingError for an unknown case
 */
export function checkCases(parts: CaseParts): readonly CheckCase[] {
  const { types = eventTypes, only } = parts
  const main = types.includes('track') || types[0] === undefined ? 'track' : types[0]
  const others = types.filter((type, index) => type !== main && types.indexOf(type) === index)
  const textOf = (type: EventType, id: string): string =>
    webhookText({ type, messageId: `check-${parts.id}-${id}`, nowMs: parts.nowMs })
  const typeCase = (type: EventType, isForged: boolean): CheckCase => {
    const id = `${isForged ? 'forged' : 'type'}-${type}`
    const body = textOf(type, id)
    const signature = signBody(body, isForged ? wrongSecret : parts.secret)
    const about = `of type ${type}${isForged ? ' with a forged signature' : ''}`
    return { id, about, expected: isForged ? 'refused' : 'taken', type, body, signature }
  }
  const cases = [
    ...takenCases(main, parts),
    ...others.map((type) => typeCase(type, false)),
    ...refusedCases(main, textOf(main, 'refused'), parts.secret),
    ...others.map((type) => typeCase(type, true)),
  ]
  return only === undefined ? cases : selected(cases, only)
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
