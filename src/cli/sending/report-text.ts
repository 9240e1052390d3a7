import {
  endpointName,
  failureText,
  formatDuration,
  formatTimestamp,
  plainText,
  shortText,
  type JsonObject,
  type JsonValue,
  type RequestRecord,
  type SettledDelivery,
  type DeliveryLedger,
  type Ledger,
} from '../../model/index.ts'
import { formatJson } from '../output/json.ts'
import { countOf, formatCount, formatTimeOfDay } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import type { Plan, PlanReason } from './dry-outlet.ts'
import type { OutletLedger } from './outlet.ts'

/** Names a call in a few words: `track "Order Completed"`. */
function callName({ type, event, name }: JsonObject): string {
  const title = event ?? name
  const named = typeof title === 'string' ? ` "${shortText(title)}"` : ''
  return `${typeof type === 'string' ? plainText(type) : 'call'}${named}`
}

/** Formats a line about a request: time, attempt, result, endpoint, duration, messageId and the next retry. */
export function requestText(record: RequestRecord, style: Style, nextAtMs?: number): string {
  const { messageId, url, attempt, outcome, error, status, durationMs, atMs, excerpt } = record
  const look = { success: 'good', retry: 'warning', final: 'bad' } as const
  const answer = style[look[outcome]](error === null ? String(status) : failureText(error))
  const time = style.faint(formatTimeOfDay(atMs))
  const end = style.faint(`${formatDuration(durationMs)}  ${plainText(messageId)}`)
  const waitMs = (nextAtMs ?? 0) - atMs - durationMs
  const next = nextAtMs === undefined ? '' : style.faint(nextTryText(waitMs))
  const said = shortText(excerpt.trim().replaceAll(/\s+/g, ' '), 200)
  const isShown = outcome === 'final' || (outcome === 'retry' && attempt === 1)
  const isQuoted = isShown && said !== ''
  const quoted = isQuoted ? `\n${style.faint(`  └ it said: ${said}`)}` : ''
  return `${time}  attempt ${attempt}  ${answer}  ${endpointName(url)}  ${end}${next}${quoted}`
}

function nextTryText(waitMs: number): string {
  const seconds = Math.round(waitMs / 1_000)
  return seconds > 0 ? `  next try in about ${formatDuration(seconds * 1_000)}` : '  next try soon'
}

/** The result of a command's only call. */
export interface SingleCall {
  readonly call: JsonObject
  readonly urls: readonly string[]
  readonly isDry: boolean
  /** The settled delivery; undefined if the call was not sent. */
  readonly delivery: (EndedDelivery & { readonly explanation: string }) | undefined
  readonly request: RequestRecord | undefined
  /** Why `--only` excluded the call; undefined if it did not. */
  readonly whyFiltered: string | undefined
  readonly ledger: OutletLedger
  readonly durationMs: number
}

/** Formats the result of a command's only call: `✔ track "E" → http://127.0.0.1:4100/ 200 in 18ms`. */
export function singleText(single: SingleCall, style: Style): string | undefined {
  const { urls, isDry, delivery, request, ledger } = single
  const name = callName(single.call)
  const where = urls.map((url) => endpointName(url)).join(', ')
  if (isDry) {
    const plan = ledger.routed > 0 ? 'would be sent' : 'would not be sent'
    return `${name} ${style.strong(plan)} to ${where}`
  }
  if (ledger.delivered > 0) {
    const url = request === undefined ? where : endpointName(request.url)
    const answer = request === undefined ? 'accepted' : String(request.status)
    const took = formatDuration(request?.durationMs ?? single.durationMs)
    return `${style.good('✔')} ${name} → ${url} ${style.good(answer)} in ${took}`
  }
  if (delivery !== undefined) {
    const failed = style.bad(endedText(delivery) + lastAnswerText(delivery, request))
    return `${style.bad('✖')} ${name} → ${where} ${failed}`
  }
  if (ledger.filtered > 0) {
    const why = single.whyFiltered ?? `its integrations exclude ${where}`
    return `${style.warning('–')} ${name} was filtered out: ${why}`
  }
  if (ledger.duplicate > 0)
    return `${style.warning('–')} ${name} was not sent: an earlier call has its messageId`
  return undefined
}

/** Formats how a delivery ended. */
export function endedText(delivery: NonNullable<SingleCall['delivery']>): string {
  const { state, attempts, reason, explanation } = delivery
  return `${state} after ${countOf(attempts, 'attempt')}: ${failureText(reason ?? '')}${explanation}`
}

function lastAnswerText({ reason }: EndedDelivery, request: RequestRecord | undefined): string {
  const status = request?.status ?? null
  return reason === 'window_over' && status !== null ? `; it last answered ${status}` : ''
}

const reasons: Readonly<Record<PlanReason, string>> = {
  enabled_by_default: 'would be sent: all destinations are enabled by default',
  enabled_by_name: 'would be sent: "integrations" enables Webhooks by name',
  not_connected: 'would not be sent: the destination is not connected to this source',
  destination_disabled: 'would not be sent: the destination is disabled',
  disabled_by_name: 'would not be sent: "integrations" disables Webhooks by name',
  disabled_by_all: 'would not be sent: "integrations" disables All, and does not enable Webhooks',
  historical_not_accepted:
    'would not be sent: the call is more than a day old, and acceptsHistorical is false',
  filter_not_matched: 'would not be sent: the filter does not match',
  duplicate: 'would not be sent: a call with this messageId came before',
}

/** Formats a plan: the decision, URLs, headers, signature and body. */
export function planText(plan: Plan, style: Style): string {
  const { type, messageId, decision, isNamed, body } = plan
  const where = isNamed === true ? ` → ${style.name(decision?.destinationId ?? '')}` : ''
  const lines = [
    `${style.strong(plainText(type).toUpperCase())} ${style.faint(plainText(messageId))}${where}`,
  ]
  if (decision !== undefined) lines.push(`  ${reasons[decision.reason]}`)
  if (decision?.hint !== undefined) lines.push(`  ${style.warning(plainText(decision.hint))}`)
  if (body !== null) lines.push(...requestLines(plan, body, style))
  return `${lines.join('\n')}\n\n`
}

function requestLines(plan: Plan, body: string, style: Style): readonly string[] {
  const { urls, headerNames, signature } = plan
  const size = style.faint(`(${formatCount(Buffer.byteLength(body))} bytes)`)
  return [
    ...urls.flatMap((url, index) => [
      `  POST ${style.name(url)} ${size}`,
      // Header values may be secrets, so print only the names.
      ...(headerNames?.[index] ?? []).map((name) => `  ${name}: ${style.faint('********')}`),
    ]),
    ...(signature === null ? [] : [`  X-Signature: ${signature}`]),
    formatJson(JSON.parse(body) as JsonValue, style).replace(/^/gm, '  '),
  ]
}

/** The outcome of a delivery to an endpoint or to a service. */
export type EndedDelivery = Omit<SettledDelivery, 'acceptedAtMs'>

/** Converts a request to an endpoint to its JSON record. */
export function requestRecord(request: RequestRecord): Readonly<Record<string, unknown>> {
  const { messageId, attempt, outcome, status, error, durationMs, atMs } = request
  const url = endpointName(request.url)
  const time = { ms: durationMs, at: formatTimestamp(atMs) }
  return { kind: 'request', messageId, url, attempt, outcome, status, error, ...time }
}

/** Converts a settled delivery to its JSON record. */
export function deliveryRecord(delivery: EndedDelivery): Readonly<Record<string, unknown>> {
  const { messageId, type, destinationId, state, attempts, reason } = delivery
  return { kind: 'delivery', messageId, type, destination: destinationId, state, attempts, reason }
}

/** The name of a count, and its style if it isn't zero. */
type Part = readonly [keyof Ledger, keyof Style]

/** Formats the summary line: equations that show that the counts balance, without terms that are zero. */
export function summaryLine(
  ledger: DeliveryLedger & Partial<Ledger>,
  durationMs: number,
  { style, isDry = false }: { readonly style: Style; readonly isDry?: boolean },
): string {
  const count = (name: keyof Ledger): number => ledger[name] ?? 0
  const equations = [
    equation('read', [
      ['accepted', 'strong'],
      ['rejected', 'bad'],
    ]),
    equation('accepted', [
      ['routed', 'strong'],
      ['filtered', 'warning'],
      ['duplicate', 'warning'],
      ['suppressed', 'warning'],
    ]),
    isDry
      ? `${style.strong(formatCount(count('routed')))} would be sent`
      : equation(count('deliveries') === 1 ? 'delivery' : 'deliveries', [
          ['delivered', 'good'],
          ['failed', 'bad'],
          ['expired', 'bad'],
          ['pending', 'warning'],
        ]),
  ]
  if (ledger.read === undefined) equations.shift()
  return `${equations.join(style.faint(' · '))} ${style.faint(`(${formatDuration(durationMs)})`)}\n`

  function equation(whole: keyof Ledger | 'delivery', parts: readonly Part[]): string {
    const shown = parts.filter(([name], index) => index === 0 || count(name) > 0)
    const sum = shown.map(([name, look]) => {
      const text = `${formatCount(count(name))} ${name}`
      return count(name) > 0 ? style[look](text) : text
    })
    const total = count(whole === 'delivery' ? 'deliveries' : whole)
    return `${formatCount(total)} ${whole} = ${sum.join(' + ')}`
  }
}
