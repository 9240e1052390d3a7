import { parseTree } from 'jsonc-parser'
import { passedOnHeaders } from '../../http/index.ts'
import {
  emptyLedger,
  endpointName,
  formatTimestamp,
  parseTimestamp,
  type Endpoint,
  type JsonValue,
} from '../../model/index.ts'
import { Pipeline } from '../../pipeline/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { openStore } from '../../store/index.ts'
import { signBody, signStandardWebhook, type RequestContent } from '../../webhook/index.ts'
import { stopGraceMs, type Outlet, type OutletParts } from './outlet.ts'
import { readCapturedRequest, type CapturedRequest, type TimeShiftBy } from './captured-request.ts'
import type { CapturedTarget } from './sending-options.ts'

type CaptureOutletParts = OutletParts<CapturedTarget>

/** Makes the outlet that sends captured requests again, with their bodies and headers. Throws `store_unusable`. */
export async function captureOutlet(parts: CaptureOutletParts): Promise<Outlet> {
  const { options, runtime, target } = parts
  const { destination } = target
  const pipeline = new Pipeline({
    destinations: [
      {
        ...destination,
        retryForMs: options.retryForMs,
        // Send one request at a time, to keep the order.
        concurrency: 1,
        compose: (webhook, endpoint) =>
          composeCaptured(JSON.parse(webhook.body) as CapturedContent, endpoint, parts),
      },
    ],
    store: await openStore('memory:', { bounds: { endedMax: 0 } }),
    isStoreOwn: true,
    runtime,
    deadlineMs: options.timeoutMs,
  })
  let taken = 0
  return {
    offer: offerTo(parts, async ({ messageId, type, userId, headers, body }) => {
      taken++
      // The store ignores a messageId that a source repeats. Each request gets its own source, so repeats are sent.
      const sourceId = `capture:${taken}`
      // A store keeps one text per delivery, so put headers and body into one text.
      const text = JSON.stringify({ headers, body } satisfies CapturedContent)
      const deliveries = [{ destinationId: destination.id, body: text }]
      await pipeline.add([{ sourceId, messageId, type, userId, deliveries }])
    }),
    finish: () => pipeline.idle(),
    stop: () => pipeline.stop(stopGraceMs),
    ledger: () => pipeline.ledger(),
    close: () => pipeline.close(),
  }
}

/** Makes the outlet for a dry run of a capture, which plans requests but sends none. */
export function capturePlanOutlet(parts: CaptureOutletParts): Outlet {
  const { endpoints } = parts.target.destination
  const [endpoint = { url: '', headers: {} }] = endpoints
  const urls = endpoints.map(({ url }) => endpointName(url))
  const done = (): Promise<void> => Promise.resolve()
  let taken = 0
  return {
    offer: offerTo(parts, (request) => {
      const { messageId, type, body } = request
      const { headers } = composeCaptured(request, endpoint, parts)
      taken++
      const signature = headers['x-signature'] ?? null
      parts.report.planned({ messageId, type, urls, body, decision: undefined, signature })
    }),
    finish: done,
    stop: done,
    close: done,
    ledger: () => Promise.resolve({ ...emptyLedger, accepted: taken, routed: taken }),
  }
}

/** Returns an `offer` for an outlet. It parses captured requests, shifts their timestamps, and passes them on. */
function offerTo(
  { target: { shiftBy }, runtime }: CaptureOutletParts,
  take: (request: CapturedRequest & { readonly messageId: string }) => Promise<void> | void,
): Outlet['offer'] {
  const shift = shiftBy === undefined ? undefined : timeShift(shiftBy, runtime.clock)
  return async (row, { line }) => {
    const reading = readCapturedRequest(row)
    if (reading.kind === 'rejected') return reading
    const { request } = reading
    const body = shift?.(request.body) ?? request.body
    await take({ ...request, messageId: request.messageId ?? `line-${line}`, body })
    return { kind: 'taken' }
  }
}

type CapturedContent = Pick<CapturedRequest, 'headers' | 'body'>

/** Composes a captured request with the static headers of the endpoint. Signs the request if there is a new secret. */
function composeCaptured(
  { headers, body }: CapturedContent,
  endpoint: Endpoint,
  { target: { newSecret }, runtime }: CaptureOutletParts,
): RequestContent {
  const kept = lowerCased(Object.fromEntries(passedOnHeaders(Object.entries(headers))))
  const composed = { ...kept, ...lowerCased(endpoint.headers) }
  if (newSecret === undefined) return { headers: composed, body }
  const signatures: Record<string, string> = { 'x-signature': signBody(body, newSecret) }
  const id = kept['webhook-id']
  if (id !== undefined && kept['webhook-signature'] !== undefined) {
    const timestamp = Math.floor(runtime.clock.nowMs() / 1_000)
    signatures['webhook-timestamp'] = String(timestamp)
    signatures['webhook-signature'] = signStandardWebhook({ id, timestamp, body }, newSecret)
  }
  return { headers: { ...composed, ...signatures }, body }
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}

/** A timestamp in JSON text. The range from `start` to `end` includes its quotes. */
interface TimeRange {
  readonly name: string
  readonly start: number
  readonly end: number
  readonly atMs: number
}

const timeNames: readonly unknown[] = ['timestamp', 'originalTimestamp', 'sentAt']

/** The latest time that a Date can represent. */
const latestMs = 8_640_000_000_000_000

/** Returns a function that moves all timestamps in a body by the same amount, and changes nothing else. */
export function timeShift(by: TimeShiftBy, clock: Clock): (text: string) => string {
  let offsetMs = by === 'now' ? undefined : by
  return (text) => {
    const times = timesOf(text)
    const first = times.find(({ name }) => name === 'timestamp') ?? times[0]
    if (first === undefined) return text
    offsetMs ??= clock.nowMs() - first.atMs
    let moved = ''
    let end = 0
    for (const time of times) {
      const atMs = Math.min(Math.max(time.atMs + offsetMs, -latestMs), latestMs)
      moved += text.slice(end, time.start) + JSON.stringify(formatTimestamp(atMs))
      end = time.end
    }
    return moved + text.slice(end)
  }
}

/** Finds the timestamps in a JSON object, but not in objects inside it. */
function timesOf(text: string): readonly TimeRange[] {
  const properties = parseTree(text)?.children ?? []
  return properties.flatMap(({ children: [key, value] = [] }) => {
    if (!timeNames.includes(key?.value) || value === undefined) return []
    const atMs = parseTimestamp(value.value as JsonValue | undefined)
    const [start, end] = [value.offset, value.offset + value.length]
    return atMs === undefined ? [] : [{ name: key?.value as string, start, end, atMs }]
  })
}
