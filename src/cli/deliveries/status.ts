import type { DeliveryFields, DestinationFields, EndpointFields } from '../../admin-api/index.ts'
import { isoOrNull, type LoggedState } from '../../delivery/index.ts'
import { failureText, formatDuration, plainText } from '../../model/index.ts'
import { formatPast, formatSecond, momentOf } from '../output/moments.ts'
import { countOf } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import type { TextTableView } from '../output/table.ts'

/** The part of a destination's status that explains why its deliveries wait. */
export interface DestinationStatus extends Pick<DestinationFields, 'id' | 'enabled'> {
  readonly endpoints: readonly Pick<EndpointFields, 'url' | 'probeAt' | 'rate' | 'faults'>[]
}

/** Why a pending delivery has not been sent yet. */
export interface Wait {
  /** The fields to add to the delivery's record. */
  readonly fields: { readonly parked?: object; readonly destinationIs?: 'disabled' | 'removed' }
  /** Set if every endpoint that the delivery may use is down. Names these endpoints and the time of the next probe. */
  readonly parked?: string
  /** Why the service sends nothing to the destination. */
  readonly held?: string
  /** A sentence to show after the status. Undefined if `parked` is set, because the status contains `parked`. */
  readonly note?: string
}

/** Returns why a delivery that is due has not been sent; undefined for any other delivery. */
export type WaitOf = (delivery: DeliveryFields) => Wait | undefined

/** Returns the function that tells why a delivery waits. Without a service, `destinations` is undefined. */
export function waitsAt(
  nowMs: number,
  destinations: readonly DestinationStatus[] | undefined,
): WaitOf {
  const byId = new Map(destinations?.map((destination) => [destination.id, destination]))
  return (delivery) => {
    const { dueAt } = delivery
    if (dueAt === null) return undefined
    const destination = byId.get(delivery.destination)
    if (destinations !== undefined && destination?.enabled !== true) {
      return heldAt(destination === undefined ? 'removed' : 'disabled')
    }
    if (momentOf(dueAt) > nowMs) return undefined
    if (destination === undefined) {
      const note =
        'It is being sent, or no endpoint of its destination answers, or no process delivers to its destination.'
      return { fields: {}, note }
    }
    return waitFor(destination, delivery, nowMs)
  }
}

function heldAt(destinationIs: 'disabled' | 'removed'): Wait {
  const [held, remedy] =
    destinationIs === 'removed'
      ? ['destination is no longer configured', 'add the destination again']
      : ['destination is disabled', 'enable the destination']
  return {
    fields: { destinationIs },
    held,
    note: `Its ${held}: ${remedy}, or discard the delivery.`,
  }
}

function waitFor({ endpoints }: DestinationStatus, { holds }: DeliveryFields, nowMs: number): Wait {
  const isHeld = (until: string | null): boolean => until === null || momentOf(until) > nowMs
  const held = new Set(holds.filter(({ until }) => isHeld(until)).map(({ url }) => url))
  const unheld = endpoints.filter(({ url }) => !held.has(url))
  const probeTimesMs = unheld.flatMap(({ probeAt }) =>
    probeAt === null ? [] : Date.parse(probeAt),
  )
  const isDown = unheld.length > 0 && probeTimesMs.length === unheld.length
  if (!isDown) {
    const rates = unheld.flatMap(({ rate }) => rate ?? []).join(' and ')
    const at = rates === '' ? '' : ` at ${plainText(rates)}`
    return { fields: {}, note: `It is being sent, or is waiting for its turn${at}.` }
  }
  const urls = unheld.map(({ url }) => url)
  const untilMs = Math.min(...probeTimesMs)
  const down = `${plainText(urls.join(' and '))} ${urls.length === 1 ? 'is' : 'are'} down`
  const time = untilMs > nowMs ? `at ${formatSecond(untilMs, nowMs)}` : 'now'
  return {
    fields: { parked: { urls, until: isoOrNull(untilMs) } },
    parked: `parked: ${down}, next probe ${time}`,
  }
}

/** Lists the failures that were not retried, for each endpoint of a destination. */
export function faultTexts({ endpoints }: DestinationStatus, nowMs: number): readonly string[] {
  return endpoints.flatMap(({ url, faults }) =>
    faults.map(({ reason, failures, since }) => {
      const requests = countOf(failures, 'request')
      const begin = formatSecond(momentOf(since), nowMs)
      return `${requests} to ${plainText(url)} failed with ${plainText(reason)} since ${begin}, without a retry`
    }),
  )
}

/** What a report about deliveries needs besides the deliveries. */
export interface TableView extends TextTableView {
  readonly nowMs: number
  readonly waitOf: WaitOf
}

/** How tables and reports colour each state. */
export const stateLooks: Readonly<Record<LoggedState, keyof Style>> = {
  pending: 'warning',
  delivered: 'good',
  failed: 'bad',
  expired: 'bad',
}

/** Formats the status of a delivery and the reason for it, in one sentence. */
export function statusText(
  delivery: DeliveryFields,
  { nowMs, waitOf }: Pick<TableView, 'nowMs' | 'waitOf'>,
): string {
  switch (delivery.state) {
    case 'pending':
      return waitingText(delivery, nowMs, waitOf(delivery))
    case 'delivered':
      return `delivered on its ${ordinal(delivery.attempts)} attempt${ending(delivery, nowMs)}`
    case 'failed':
    case 'expired':
      return `${delivery.state}${ending(delivery, nowMs)}: ${reasonText(delivery)}`
  }
}

function waitingText(delivery: DeliveryFields, nowMs: number, wait: Wait | undefined): string {
  const { attempts, lane, expiresAt, reason } = delivery
  const dueAtMs = delivery.dueAt === null ? nowMs : momentOf(delivery.dueAt)
  const dueAt = formatSecond(dueAtMs, nowMs)
  const origin = lane === 'manual' ? ', which was requested by hand,' : ','
  const due =
    dueAtMs > nowMs
      ? `due in ${formatDuration(dueAtMs - nowMs)} (${dueAt})`
      : `due for ${formatDuration(nowMs - dueAtMs)} (since ${dueAt})`
  const when = wait?.parked ?? due
  const expiry =
    expiresAt === null ? '' : `; expires at ${formatSecond(momentOf(expiresAt), nowMs)}`
  const last = reason === null ? '' : ` after ${plainText(reason)}`
  return `waits for its ${ordinal(attempts + 1)} attempt${last}${origin} ${when}${expiry}`
}

function ending({ settledAt }: DeliveryFields, nowMs: number): string {
  return settledAt === null ? '' : ` at ${formatPast(momentOf(settledAt), nowMs)}`
}

function reasonText({ reason }: DeliveryFields): string {
  const causes = plainText(reason ?? 'no reason was given').split(', ')
  return causes.map(failureText).join(', ')
}

/** Formats an ordinal number: `1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`. */
export function ordinal(count: number): string {
  const isTeen = count % 100 >= 11 && count % 100 <= 13
  const suffix = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th')
  return `${count}${suffix}`
}
