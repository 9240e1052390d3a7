import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  formatDeliveryId,
  loggedDeliveryRecord,
  parseDeliveryId,
  storyRecord,
  type DeliveryFilter,
  type DeliveryKey,
  type DeliveryStory,
  type LoggedDelivery,
} from '../../delivery/index.ts'
import {
  columnsOf,
  cutToColumns,
  formatDuration,
  isJsonObject,
  parseJson,
  plainText,
  recordLine,
  shortText,
  type RequestRecord,
} from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter } from '../io.ts'
import { usageError } from '../output/error.ts'
import { payloadText } from '../output/json.ts'
import { formatMoment, formatPast, formatSecond, formatSpan } from '../output/moments.ts'
import { formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import { pairsText, TextTable } from '../output/table.ts'
import type { ReadersRun } from '../store-access/readers.ts'
import {
  faultTexts,
  parkedText,
  stateLooks,
  statusText,
  waitFields,
  waitsAt,
  waitText,
  type StatusView,
  type TableView,
} from './status.ts'

/** If there are more deliveries than the limit, the hint proposes a limit larger by this factor. */
const moreFactor = 10

/** Lists deliveries, newest first. If there are more than the limit, says so on stderr. */
export async function listDeliveries(
  { filter, limit }: { readonly filter: DeliveryFilter; readonly limit: number },
  run: ReadersRun,
): Promise<ExitCode> {
  const { io, json, nowMs, style, columns } = run
  const stdout = new DataWriter(io)
  const destinations = await run.deliveries.destinations?.()
  const waitOf = waitsAt(nowMs, destinations)
  const table = deliveryTable({ nowMs, waitOf, style, columns })
  const lineOf = (delivery: LoggedDelivery): string =>
    recordLine({ ...loggedDeliveryRecord(delivery), ...waitFields(waitOf(delivery)) })
  const shownAt = new Set<string>()
  let shown = 0
  let isMore = false
  // Ask for one more than the limit, to learn whether there are more.
  for await (const page of pagesOf(run, { filter, limit: limit + 1 })) {
    const deliveries = page.slice(0, limit - shown)
    shown += deliveries.length
    for (const { destinationId } of deliveries) shownAt.add(destinationId)
    isMore = deliveries.length < page.length
    if (json) stdout.write(deliveries.map(lineOf).join(''))
    else if (deliveries.length > 0) stdout.write(table.page(deliveries))
    await stdout.ready()
  }
  if (isMore) io.stderr.write(`... and more; --limit ${limit * moreFactor}\n`)
  else if (shown === 0 && !io.stop.aborted && !json) io.stderr.write('No delivery matches.\n')
  if (!json) {
    const shownFaults = (destinations ?? []).filter(({ id }) => shownAt.has(id))
    const texts = [
      ...narrowTexts(table),
      ...shownFaults.flatMap((destination) => faultTexts(destination, nowMs)),
    ]
    io.stderr.write(texts.map((text) => `${text}\n`).join(''))
  }
  return exitCodes.ok
}

function narrowTexts({ dropped }: TextTable<LoggedDelivery>): readonly string[] {
  return dropped.length === 0 ? [] : [`The terminal is too narrow for ${dropped.join(', ')}.`]
}

/** The minimum width of ids: enough for any number, which alone identifies a delivery. */
const idColumnsMin = 18

/** Makes a table of deliveries, most important column first. */
export function deliveryTable(view: TableView): TextTable<LoggedDelivery> {
  const { nowMs } = view
  return new TextTable<LoggedDelivery>(
    [
      {
        title: 'delivery',
        text: formatDeliveryId,
        look: 'strong',
        columnsMin: idColumnsMin,
        cut: cutId,
      },
      { title: 'state', text: ({ state }) => state, look: ({ state }) => stateLooks[state] },
      {
        title: 'why or next',
        text: (delivery) => outlookOf(delivery, view),
        look: ({ state }) => (state === 'pending' ? 'plain' : 'bad'),
        columnsMin: 16,
      },
      {
        title: 'accepted',
        text: ({ acceptedAtMs }) => `${formatSpan(nowMs - acceptedAtMs)} ago`,
        look: 'faint',
      },
      { title: 'tries', text: ({ attempts }) => String(attempts), isCount: true },
      { title: 'user', text: ({ userId }) => userId ?? '-', look: 'name' },
      {
        title: 'event',
        text: ({ type, eventName }) => (eventName === null ? type : `${type} ${eventName}`),
      },
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
  // Leave room for at least a letter and an ellipsis.
  return room < 2 ? id.slice(slash + 1) : cutToColumns(id.slice(0, slash), room) + id.slice(slash)
}

/** Explains why the delivery failed, or when its next attempt is due. */
function outlookOf(delivery: LoggedDelivery, { nowMs, waitOf }: StatusView): string {
  const { reason, dueAtMs } = delivery
  if (dueAtMs === null) return plainText(reason ?? '')
  const parked = parkedText(waitOf(delivery), nowMs)
  if (parked !== undefined) return parked
  const due =
    dueAtMs > nowMs
      ? `next in ${formatSpan(dueAtMs - nowMs)}`
      : `due for ${formatSpan(nowMs - dueAtMs)}`
  return reason === null ? due : `${due} after ${plainText(reason)}`
}

/** Shows the whole history of a delivery, or of every delivery of an event. */
export async function showDeliveries(id: string, run: ReadersRun): Promise<ExitCode> {
  const { io, json, deliveries, nowMs, style, columns } = run
  const stdout = new DataWriter(io)
  const filter = await filterOfId(id, run)
  const waitOf = waitsAt(nowMs, await deliveries.destinations?.())
  let isFirst = true
  for await (const page of pagesOf(run, { filter, limit: Infinity })) {
    for (const { destinationId, id } of page) {
      const story = await deliveries.story({ destinationId, id })
      // The delivery has been purged since it was listed.
      if (story === undefined) continue
      const { delivery, ...record } = storyRecord(story)
      const shown = { ...delivery, ...waitFields(waitOf(story)) }
      const text = (): string =>
        `${isFirst ? '' : '\n'}${storyText(story, { nowMs, waitOf, style, columns })}`
      stdout.write(json ? recordLine({ ...record, delivery: shown }) : text())
      isFirst = false
    }
    await stdout.ready()
  }
  return exitCodes.ok
}

/** Maximum characters of an answer on a terminal. JSON records contain the whole stored answer. */
const excerptCharactersMax = 400
const outcomeLooks = { success: 'good', retry: 'warning', final: 'bad' } as const

/** Formats the whole history of a delivery for people. */
function storyText(story: DeliveryStory, view: TableView): string {
  const { style } = view
  const bytes = formatCount(Buffer.byteLength(story.body))
  const parts = [
    ['', style.strong('Requests'), ...requestLines(story, view)],
    ['', style.strong('Body') + style.faint(` (${bytes} bytes)`), bodyText(story, style)],
  ]
  return `${pairsText(pairsOf(story, view), style)}${parts.flat().join('\n')}\n`
}

function pairsOf(story: DeliveryStory, view: TableView): (readonly [string, string])[] {
  const { nowMs, style, waitOf } = view
  const { type, messageId, userId, sourceId, destinationId, acceptedAtMs, manualRetries } = story
  const wait = waitText(waitOf(story))
  const pairs: (readonly [string, string])[] = [
    ['Delivery', style.strong(plainText(formatDeliveryId(story)))],
    ['Event', `${style.strong(type.toUpperCase())} ${plainText(messageId)}`],
    ['User', style.name(plainText(userId ?? '-'))],
    ['Source', plainText(sourceId)],
    ['Destination', plainText(destinationId)],
    ['Accepted', formatPast(acceptedAtMs, nowMs)],
    ['State', style[stateLooks[story.state]](statusText(story, view))],
  ]
  if (wait !== undefined) pairs.push(['', wait])
  if (manualRetries > 0) {
    pairs.push(['By hand', manualRetries === 1 ? 'retried once' : `retried ${manualRetries} times`])
  }
  return [...pairs, ...story.holds.map((hold) => ['Skipped', holdText(hold, nowMs)] as const)]
}

function holdText({ url, untilMs }: DeliveryStory['holds'][number], nowMs: number): string {
  const until = untilMs === null ? 'refused this delivery' : `until ${formatSecond(untilMs, nowMs)}`
  return `${plainText(url)}: ${until}`
}

function requestLines({ requests }: DeliveryStory, view: TableView): readonly string[] {
  if (requests.length === 0) return [view.style.faint('  none yet')]
  return requests.flatMap((request) => requestText(request, view))
}

function requestText(request: RequestRecord, { nowMs, style, columns }: TableView): string[] {
  const { atMs, attempt, lane, outcome, error, status, url, durationMs, excerpt } = request
  const answer = style[outcomeLooks[outcome]](plainText(error ?? String(status)))
  const round = `attempt ${attempt}${lane === 'manual' ? ' by hand' : ''}`
  const time = style.faint(formatMoment(atMs, nowMs))
  const line = `  ${time}  ${round}  ${answer}  ${plainText(url)}  ${style.faint(formatDuration(durationMs))}`
  const text = columns === undefined ? plainText(excerpt) : shortText(excerpt, excerptCharactersMax)
  return text.trim() === '' ? [line] : [line, `    ${style.faint('└')} ${text.trim()}`]
}

function bodyText({ body }: DeliveryStory, style: Style): string {
  if (body === '') return style.bad('  its text is missing from the store')
  const parsed = parseJson(body)
  const payload = { body: isJsonObject(parsed) ? parsed : null, rawBody: Buffer.from(body) }
  return payloadText(payload, style).replace(/^/gm, '  ')
}

/** Deliveries per page, or per request to change them. */
export const deliveriesAtOnce = 500

/**
 * Makes a filter for the delivery with this id or number, or for all deliveries of the event with this
 * messageId.
 *
 * @throws EvrouteError `invalid_usage` if it names no delivery
 */
export async function filterOfId(
  text: string,
  { deliveries, from }: Pick<ReadersRun, 'deliveries' | 'from'>,
): Promise<DeliveryFilter> {
  const key = parseDeliveryId(text) ?? (await keyOfNumber(text, deliveries))
  // A messageId may look like a delivery id, so try both.
  for (const filter of [...(key === undefined ? [] : [key]), { messageId: text }]) {
    const found = await deliveries.list({ filter, limit: 1 })
    if (found.length > 0) return filter
  }
  throw usageError(
    `Cannot find "${plainText(text)}" in the ${from}: no delivery has this id or messageId`,
    'Run `evroute deliveries list` for the ids. Delivered ones are purged after a while.',
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
  return found?.id === number ? { destinationId: found.destinationId, id: number } : undefined
}

/**
 * Yields pages of deliveries, newest first, up to a limit. Lets the event loop run before each page, so that
 * signals are handled.
 */
export async function* pagesOf(
  { deliveries, io }: Pick<ReadersRun, 'deliveries' | 'io'>,
  { filter, limit }: { readonly filter: DeliveryFilter; readonly limit: number },
): AsyncGenerator<readonly LoggedDelivery[]> {
  let left = limit
  let beforeId: number | undefined
  while (left > 0) {
    await nextTurn()
    if (io.stop.aborted) return
    const asked = Math.min(left, deliveriesAtOnce)
    const page = await deliveries.list({ filter, limit: asked, beforeId })
    if (page.length > 0) yield page
    if (page.length < asked) return
    beforeId = page.at(-1)?.id
    left -= page.length
  }
}
