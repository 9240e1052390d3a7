import { formatDeliveryId, storyRecord, type DeliveryStory } from '../../delivery/index.ts'
import {
  formatDuration,
  isJsonObject,
  plainText,
  recordLine,
  shortText,
  type JsonObject,
  type RequestRecord,
} from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter } from '../io.ts'
import { payloadText } from '../output/json.ts'
import { formatMoment, formatPast, formatSecond } from '../output/moments.ts'
import { formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import { pairsText } from '../output/table.ts'
import type { ReadersRun } from '../store-access/readers.ts'
import { filterOfId, pagesOf } from './find.ts'
import {
  stateLooks,
  statusText,
  waitFields,
  waitsAt,
  waitText,
  type TableView,
  type Wait,
} from './status.ts'

/**
 * Shows the whole history of a delivery, or of every delivery of an event.
 *
 * @throws EvrouteError `invalid_usage` for an unknown id
 */
export async function showDeliveries(id: string, run: ReadersRun): Promise<ExitCode> {
  const { io, json, deliveries, nowMs, style, columns } = run
  const stdout = new DataWriter(io)
  const filter = await filterOfId(id, run)
  const waitOf = waitsAt(nowMs, await deliveries.destinations?.())
  let isFirst = true
  for await (const page of pagesOf(run, { filter, limit: Infinity })) {
    for (const { destinationId, id } of page) {
      const story = await deliveries.story({ destinationId, id })
      // The delivery was purged since it was listed.
      if (story === undefined) continue
      const text = (): string =>
        `${isFirst ? '' : '\n'}${storyText(story, { nowMs, waitOf, style, columns })}`
      stdout.write(json ? recordLine(recordOf(story, waitOf(story))) : text())
      isFirst = false
    }
    await stdout.ready()
  }
  return exitCodes.ok
}

function recordOf(story: DeliveryStory, wait: Wait | undefined): Readonly<Record<string, unknown>> {
  const record = storyRecord(story)
  return { ...record, delivery: { ...(record['delivery'] as object), ...waitFields(wait) } }
}

/** Characters of an answer shown on a terminal. The JSON records have the whole stored answer. */
const excerptCharactersMax = 400
const outcomeLooks = { success: 'good', retry: 'warning', final: 'bad' } as const

/** Writes the whole history of a delivery, for a person. */
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
  return [...pairs, ...story.holds.map((hold) => ['Left alone', holdText(hold, nowMs)] as const)]
}

function holdText({ url, untilMs }: DeliveryStory['holds'][number], nowMs: number): string {
  const until =
    untilMs === null ? 'it refused this delivery' : `until ${formatSecond(untilMs, nowMs)}`
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
  if (body === '') return style.bad('  its text is missing in the store')
  return payloadText({ body: parsed(body), rawBody: Buffer.from(body) }, style).replace(/^/gm, '  ')
}

function parsed(body: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(body)
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}
