import type { LoggedDelivery } from '../../delivery/index.ts'
import { formatDuration, plainText } from '../../model/index.ts'
import { formatSecond } from './moments.ts'
import { parkedText, type Wait, type WaitOf } from './waits.ts'

/** The context that the status of a delivery depends on. */
export interface StandingView {
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
  /** Tells why a delivery that is due still waits. */
  readonly waitOf: WaitOf
}

/** The status of a delivery and the reason for it, in one sentence. */
export function standingText(delivery: LoggedDelivery, { nowMs, waitOf }: StandingView): string {
  switch (delivery.state) {
    case 'pending':
      return waitingText(delivery, nowMs, waitOf(delivery))
    case 'delivered':
      return `delivered with its ${ordinal(delivery.attempts)} attempt${ending(delivery, nowMs)}`
    case 'failed':
      return `failed${ending(delivery, nowMs)}: ${failureText(delivery)}`
    case 'expired':
      return `expired${ending(delivery, nowMs)}: ${expiryText(delivery)}`
  }
}

/** Explains why a delivery that is due was not attempted yet; undefined if its status already says so. */
export function waitText(wait: Wait | undefined): string | undefined {
  switch (wait?.kind) {
    case 'unknown':
      return 'It is being sent, or parked while no endpoint of its destination answers, or no process delivers to its destination.'
    case 'disabled':
      return 'Its destination is disabled: enable it, or discard what waits for it.'
    case 'removed':
      return 'Its destination is not configured any more: add it again, or discard what waits for it.'
    case 'in_turn':
      return 'It is being sent, or its turn comes.'
    case 'parked':
    case undefined:
      return undefined
  }
}

function waitingText(delivery: LoggedDelivery, nowMs: number, wait: Wait | undefined): string {
  const { attempts, lane, expiresAtMs } = delivery
  const dueAtMs = delivery.dueAtMs ?? nowMs
  const dueAt = formatSecond(dueAtMs, nowMs)
  const asked = lane === 'manual' ? ', which was asked for by hand,' : ','
  const due =
    dueAtMs > nowMs
      ? `due in ${formatDuration(dueAtMs - nowMs)} (${dueAt})`
      : `due for ${formatDuration(nowMs - dueAtMs)} (since ${dueAt})`
  const when = parkedText(wait, nowMs) ?? due
  const expiry = expiresAtMs === null ? '' : `; expires at ${formatSecond(expiresAtMs, nowMs)}`
  return `waits for its ${ordinal(attempts + 1)} attempt${asked} ${when}${expiry}`
}

function ending({ settledAtMs }: LoggedDelivery, nowMs: number): string {
  if (settledAtMs === null) return ''
  const ago = formatDuration(Math.max(nowMs - settledAtMs, 0))
  return ` at ${formatSecond(settledAtMs, nowMs)} (${ago} ago)`
}

function failureText({ reason }: LoggedDelivery): string {
  const causes = causesOf(reason)
  const named = `(${causes.join(', ')})`
  if (causes.includes('discarded')) return `it was discarded by hand ${named}`
  if (causes.includes('backlog_full')) return `too many waited for its destination ${named}`
  if (causes.includes('no_endpoint_left')) {
    return `its destination has no endpoint left that could take it ${named}`
  }
  if (causes.every((cause) => cause.startsWith('status_'))) {
    return `the ${causes.length === 1 ? 'endpoint' : 'endpoints'} refused it ${named}`
  }
  return `it can never succeed ${named}`
}

function expiryText({ reason }: LoggedDelivery): string {
  const causes = causesOf(reason)
  const named = `(${causes.join(', ')})`
  if (causes.includes('abandoned')) return `it waited too long for its first attempt ${named}`
  if (causes.includes('window_over')) return `its retry window ended while it waited ${named}`
  if (causes.includes('breaker_open')) {
    return `it was parked until its retry window ended, because no endpoint answered ${named}`
  }
  return `its retry window ended before an endpoint took it ${named}`
}

function causesOf(reason: string | null): readonly string[] {
  return plainText(reason ?? 'no reason was given').split(', ')
}

/** `1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`. */
export function ordinal(count: number): string {
  const isTeen = count % 100 >= 11 && count % 100 <= 13
  const suffix = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th')
  return `${count}${suffix}`
}
