import type {
  AnswerRecord,
  DeliveryFields,
  DeliveryListRecord,
  RequestFields,
} from '../../admin-api/index.ts'
import {
  auditEquations,
  equationText,
  parseDeliveryId,
  type AuditEquation,
  type DeliveryFilter,
  type DeliveryKey,
  type ListRequest,
} from '../../delivery/index.ts'
import {
  columnsOf,
  cutToColumns,
  erasedReason,
  formatDuration,
  isJsonObject,
  parseJson,
  plainText,
  recordLine,
  shortText,
} from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter, writeData } from '../io.ts'
import { usageError } from '../output/error.ts'
import { payloadText } from '../output/json.ts'
import { formatMoment, formatPast, formatSecond, formatSpan, momentOf } from '../output/moments.ts'
import { formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import { pairsText, TextTable } from '../output/table.ts'
import { pagesOf, type ReadersRun } from '../store-access/readers.ts'
import { faultTexts, stateLooks, statusText, waitsAt, type TableView } from './status.ts'

/** Lists deliveries, newest first. If there are more than the limit, says so on stderr. */
export async function listDeliveries(
  { filter, limit }: Pick<ListRequest, 'filter' | 'limit'>,
  run: ReadersRun,
): Promise<ExitCode> {
  const { io, json, nowMs } = run
  const stdout = new DataWriter(io)
  const destinations = await run.deliveries.destinations?.()
  const waitOf = waitsAt(nowMs, destinations)
  const table = deliveryTable({ ...run, waitOf })
  const lineOf = (delivery: DeliveryListRecord): string =>
    recordLine({ ...delivery, ...waitOf(delivery)?.fields })
  const shownAt = new Set<string>()
  let shown = 0
  let isMore = false
  // Ask for one more than the limit, to find out whether there are more.
  for await (const page of deliveryPages({ filter, limit: limit + 1 }, run)) {
    const deliveries = page.slice(0, limit - shown)
    shown += deliveries.length
    for (const { destination } of deliveries) shownAt.add(destination)
    isMore = deliveries.length < page.length
    if (json) stdout.write(deliveries.map(lineOf).join(''))
    else if (deliveries.length > 0) stdout.write(table.page(deliveries))
    await stdout.ready()
  }
  if (isMore) io.stderr.write('... and more; see --limit\n')
  else if (shown === 0 && !io.stop.aborted && !json) io.stderr.write('No delivery matches.\n')
  if (json) return exitCodes.ok
  const shownDestinations = (destinations ?? []).filter(({ id }) => shownAt.has(id))
  const faults = shownDestinations.flatMap((destination) => faultTexts(destination, nowMs))
  io.stderr.write([...narrowTexts(table), ...faults].map((text) => `${text}\n`).join(''))
  return exitCodes.ok
}

function narrowTexts({ dropped }: TextTable<DeliveryFields>): readonly string[] {
  return dropped.length === 0 ? [] : [`The terminal is too narrow for ${dropped.join(', ')}.`]
}

/** Minimum width of ids. Every delivery number fits, and the number alone identifies a delivery. */
const idColumnsMin = 18

/** Makes a table of deliveries, most important column first. */
export function deliveryTable(view: TableView): TextTable<DeliveryFields> {
  const { nowMs } = view
  return new TextTable<DeliveryFields>(
    [
      {
        title: 'delivery',
        text: ({ id }) => id,
        look: 'strong',
        columnsMin: idColumnsMin,
        cut: cutId,
      },
      { title: 'state', text: ({ state }) => state, look: ({ state }) => stateLooks[state] },
      {
        title: 'reason/next',
        text: (delivery) => outlookOf(delivery, view),
        look: ({ state }) => (state === 'pending' ? 'plain' : 'bad'),
        columnsMin: 16,
      },
      {
        title: 'accepted',
        text: ({ acceptedAt }) => `${formatSpan(nowMs - momentOf(acceptedAt))} ago`,
        look: 'faint',
      },
      { title: 'tries', text: ({ attempts }) => String(attempts), isCount: true },
      { title: 'user', text: ({ userId }) => userId ?? '-', look: 'name' },
      // A service of an earlier version does not send a name.
      { title: 'event', text: ({ type, eventName }) => [type, eventName].join(' ').trimEnd() },
      { title: 'messageId', text: ({ messageId }) => messageId, look: 'faint', columnsMin: 12 },
    ],
    view,
  )
}

/** Shortens the destination in an id, and never the number: `to-127.0…/199950`. */
export function cutId(id: string, columnsMax: number): string {
  const slash = id.lastIndexOf('/')
  if (slash === -1) return cutToColumns(id, columnsMax)
  const room = columnsMax - columnsOf(id.slice(slash))
  // If a letter and an ellipsis don't fit, show only the number.
  return room < 2 ? id.slice(slash + 1) : cutToColumns(id.slice(0, slash), room) + id.slice(slash)
}

function outlookOf(delivery: DeliveryFields, { nowMs, waitOf }: TableView): string {
  const { reason, dueAt } = delivery
  if (dueAt === null) return plainText(reason ?? '')
  const dueAtMs = momentOf(dueAt)
  const { parked, held } = waitOf(delivery) ?? {}
  const why = parked ?? held
  if (why !== undefined) return why
  const due =
    dueAtMs > nowMs
      ? `due in ${formatSpan(dueAtMs - nowMs)}`
      : `due for ${formatSpan(nowMs - dueAtMs)}`
  return reason === null ? due : `${due} after ${plainText(reason)}`
}

/** Shows the whole history of a delivery, or of every delivery of an event. */
export async function showDeliveries(id: string, run: ReadersRun): Promise<ExitCode> {
  const { io, json, deliveries } = run
  const stdout = new DataWriter(io)
  const filter = await filterOfId(id, run)
  const waitOf = waitsAt(run.nowMs, await deliveries.destinations?.())
  let isFirst = true
  for await (const page of deliveryPages({ filter, limit: Infinity }, run)) {
    for (const { id } of page) {
      const key = parseDeliveryId(id)
      const story = key && (await deliveries.story(key))
      // The delivery has been purged since it was listed.
      if (story === undefined) continue
      const delivery = { ...story.delivery, ...waitOf(story.delivery)?.fields }
      const text = (): string => `${isFirst ? '' : '\n'}${storyText(story, { ...run, waitOf })}`
      stdout.write(json ? recordLine({ ...story, delivery }) : text())
      isFirst = false
    }
    await stdout.ready()
  }
  return exitCodes.ok
}

/** Maximum characters of an answer on a terminal. JSON records contain the whole stored answer. */
const excerptCharactersMax = 400
const outcomeLooks = { success: 'good', retry: 'warning', final: 'bad' } as const

function storyText(story: AnswerRecord<'story'>, view: TableView): string {
  const { style } = view
  const bytes = formatCount(Buffer.byteLength(story.body))
  const requests = story.requests.flatMap((request) => requestText(request, view))
  const lines = [
    ...['', style.strong('Requests')],
    ...(requests.length === 0 ? [style.faint('  none yet')] : requests),
    ...['', style.strong('Body') + style.faint(` (${bytes} bytes)`), bodyText(story, style)],
  ]
  return `${pairsText(pairsOf(story.delivery, view), style)}${lines.join('\n')}\n`
}

function pairsOf(delivery: DeliveryFields, view: TableView): (readonly [string, string])[] {
  const { nowMs, style, waitOf } = view
  const { id, type, messageId, userId, source, destination, state, manualRetries } = delivery
  const note = waitOf(delivery)?.note
  const pairs: (readonly [string, string])[] = [
    ['Delivery', style.strong(plainText(id))],
    ['Event', `${style.strong(type.toUpperCase())} ${plainText(messageId)}`],
    ['User', style.name(plainText(userId ?? '-'))],
    ['Source', plainText(source)],
    ['Destination', plainText(destination)],
    ['Accepted', formatPast(momentOf(delivery.acceptedAt), nowMs)],
    ['State', style[stateLooks[state]](statusText(delivery, view))],
  ]
  if (note !== undefined) pairs.push(['', note])
  if (manualRetries > 0) {
    pairs.push(['By hand', manualRetries === 1 ? 'retried once' : `retried ${manualRetries} times`])
  }
  return [...pairs, ...delivery.holds.map((hold) => ['Skipped', holdText(hold, nowMs)] as const)]
}

function holdText({ url, until }: DeliveryFields['holds'][number], nowMs: number): string {
  const why =
    until === null ? 'refused this delivery' : `until ${formatSecond(momentOf(until), nowMs)}`
  return `${plainText(url)}: ${why}`
}

function requestText(request: RequestFields, { nowMs, style, columns }: TableView): string[] {
  const { at, attempt, lane, outcome, error, status, url, ms, excerpt } = request
  const answer = style[outcomeLooks[outcome]](plainText(error ?? String(status)))
  const round = `attempt ${attempt}${lane === 'manual' ? ' by hand' : ''}`
  const time = style.faint(formatMoment(momentOf(at), nowMs))
  const line = `  ${time}  ${round}  ${answer}  ${plainText(url)}  ${style.faint(formatDuration(ms))}`
  const text = columns === undefined ? plainText(excerpt) : shortText(excerpt, excerptCharactersMax)
  return text.trim() === '' ? [line] : [line, `    ${style.faint('└')} ${text.trim()}`]
}

function bodyText({ body, delivery }: AnswerRecord<'story'>, style: Style): string {
  if (body === '') return `  ${noBodyText(delivery, style)}`
  const parsed = parseJson(body)
  const payload = { body: isJsonObject(parsed) ? parsed : null, rawBody: Buffer.from(body) }
  return payloadText(payload, style).replace(/^/gm, '  ')
}

function noBodyText({ state, reason, userId }: DeliveryFields, style: Style): string {
  if (reason === erasedReason)
    return style.faint('the body was erased, because its user was deleted')
  return state === 'delivered' && userId === null
    ? style.faint('the body was erased with its user, or is missing from the store')
    : style.bad('the body of this webhook is missing from the store')
}

/** The number of deliveries per page, or per request to change them. */
export const deliveriesAtOnce = 500

/** Makes a filter for the id or number of a delivery, or for a messageId. Throws `invalid_usage` if nothing matches. */
export async function filterOfId(
  text: string,
  { deliveries, from }: Pick<ReadersRun, 'deliveries' | 'from'>,
): Promise<DeliveryFilter> {
  const key = parseDeliveryId(text) ?? (await keyOfNumber(text, deliveries))
  // A messageId may look like the id of a delivery, so try both.
  for (const filter of [...(key === undefined ? [] : [key]), { messageId: text }]) {
    const found = await deliveries.list({ filter, limit: 1 })
    if (found.length > 0) return filter
  }
  throw usageError(
    `Cannot find "${plainText(text)}" in the ${from}: no delivery has this id or messageId`,
    'To see the ids, run `evroute deliveries list`. Deliveries are purged a while after they end.',
  )
}

/** Finds the delivery with a number, which is unique in a store. */
async function keyOfNumber(
  text: string,
  deliveries: ReadersRun['deliveries'],
): Promise<DeliveryKey | undefined> {
  if (!/^\d{1,15}$/.test(text)) return undefined
  const number = Number(text)
  const [found] = await deliveries.list({ filter: {}, limit: 1, beforeId: number + 1 })
  const key = parseDeliveryId(found?.id ?? '')
  return key?.id === number ? key : undefined
}

/** Yields pages of deliveries, newest first. */
export function deliveryPages(
  { filter, limit }: Pick<ListRequest, 'filter' | 'limit'>,
  { deliveries, io }: Pick<ReadersRun, 'deliveries' | 'io'>,
): AsyncGenerator<readonly DeliveryListRecord[]> {
  return pagesOf({ limit, pageMax: deliveriesAtOnce, stop: io.stop }, (count, last) => {
    const beforeId = parseDeliveryId(last?.id ?? '')?.id
    return deliveries.list({ filter, limit: count, beforeId })
  })
}

/** Prints the equations that the counts of a store must satisfy. Returns 1 if one does not hold. */
export async function auditStore({ deliveries, io, json, style }: ReadersRun): Promise<ExitCode> {
  const audit = await deliveries.audit()
  const equations = auditEquations(audit)
  const wrong = equations.filter(({ difference }) => difference !== 0)
  if (json) {
    await writeData(io, recordLine(audit))
  } else {
    await writeData(io, equations.map((equation) => equationLine(equation, style)).join(''))
    const count = `${wrong.length} of ${equations.length} equations`
    const text = `The ledger does not balance: ${count} ${wrong.length === 1 ? 'does' : 'do'} not hold`
    if (wrong.length > 0) io.stderr.write(`${text}\n`)
  }
  return wrong.length === 0 ? exitCodes.ok : exitCodes.internal
}

function equationLine(equation: AuditEquation, style: Style): string {
  const { difference, whole, parts } = equation
  if (parts.length === 0 && difference === 0) return `${style.good('✔')} no ${whole.name}\n`
  const text = equationText(equation, formatCount)
  if (difference === 0) return `${style.good('✔')} ${text}\n`
  const side = difference > 0 ? 'too many' : 'too few'
  return `${style.bad('✖')} ${text}: ${style.bad(`${formatCount(Math.abs(difference))} ${side} on the left`)}\n`
}
