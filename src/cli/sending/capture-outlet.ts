import { passedOnHeaders } from '../../http/index.ts'
import { emptyLedger, endpointName, type Endpoint, type JsonObject } from '../../model/index.ts'
import { Pipeline } from '../../pipeline/index.ts'
import { openStore, type Store } from '../../store/index.ts'
import { signBody, signStandardWebhook, type RequestContent } from '../../webhook/index.ts'
import {
  stopGraceMs,
  type OfferResult,
  type RowPosition,
  type Outlet,
  type OutletLedger,
  type OutletParts,
} from './outlet.ts'
import { readCapturedRequest, TimeShift, type CapturedRequest } from './captured-request.ts'
import type { Plan } from './dry-outlet.ts'
import type { CapturedTarget } from './sending-options.ts'

type CaptureOutletParts = OutletParts & { readonly target: CapturedTarget }

/**
 * Sends captured requests again. It bypasses the client and the router, which would turn them into new webhooks.
 */
export class CaptureOutlet implements Outlet {
  readonly #destinationId: string
  readonly #pipeline: Pipeline
  readonly #shift: TimeShift | undefined
  #taken = 0

  private constructor(parts: CaptureOutletParts, store: Store) {
    const { options, runtime, target } = parts
    const { destination, newSecret, shiftBy } = target
    this.#destinationId = destination.id
    this.#shift = shiftBy === undefined ? undefined : new TimeShift(shiftBy, runtime.clock)
    this.#pipeline = new Pipeline({
      destinations: [
        {
          ...destination,
          // Send one at a time, to keep their order.
          concurrency: 1,
          compose: (webhook, endpoint) => {
            const nowMs = runtime.clock.nowMs()
            const content = JSON.parse(webhook.body) as CapturedContent
            return composeCaptured(content, endpoint, { newSecret, nowMs })
          },
        },
      ],
      store,
      isStoreOwn: true,
      runtime,
      retryWindowMs: options.retryForMs,
      deadlineMs: options.timeoutMs,
    })
  }

  /**
   * Opens a store in memory.
   *
   * @throws EvrouteError `store_unusable`
   */
  static async open(parts: CaptureOutletParts): Promise<CaptureOutlet> {
    return new CaptureOutlet(parts, await openStore('memory:', { bounds: { endedMax: 0 } }))
  }

  async offer(row: JsonObject, position: RowPosition): Promise<OfferResult> {
    const reading = readShifted(row, position, this.#shift)
    if (reading.kind === 'rejected') return reading
    const { messageId, request } = reading
    const { type, userId, headers, body } = request
    this.#taken++
    // Use a separate source for each request, because a webhook that was received twice is sent twice.
    const sourceId = `capture:${this.#taken}`
    // A store keeps only one text per delivery.
    const text = JSON.stringify({ headers, body } satisfies CapturedContent)
    const deliveries = [{ destinationId: this.#destinationId, body: text }]
    await this.#pipeline.add([{ sourceId, messageId, type, userId, deliveries }])
    return { kind: 'taken' }
  }

  finish(): Promise<void> {
    return this.#pipeline.idle()
  }

  stop(): Promise<void> {
    return this.#pipeline.stop(stopGraceMs)
  }

  /** Returns the counts so far. */
  ledger(): Promise<OutletLedger> {
    return this.#pipeline.ledger()
  }

  /** Ends the connections. */
  close(): Promise<void> {
    return this.#pipeline.close()
  }
}

type ShiftedRow =
  | { readonly kind: 'request'; readonly messageId: string; readonly request: CapturedRequest }
  | Extract<OfferResult, { readonly kind: 'rejected' }>

/** Reads a captured request, and moves its timestamps. A request without a messageId gets one for its line. */
function readShifted(
  row: JsonObject,
  { line }: RowPosition,
  shift: TimeShift | undefined,
): ShiftedRow {
  const reading = readCapturedRequest(row)
  if (reading.kind === 'rejected') return reading
  const { request } = reading
  const body = shift?.apply(request.body) ?? request.body
  return {
    kind: 'request',
    messageId: request.messageId ?? `line-${line}`,
    request: { ...request, body },
  }
}

/** Makes the outlet for a dry run of a capture, which plans requests but sends none. */
export function capturePlanOutlet(
  parts: CaptureOutletParts & { readonly planned: (plan: Plan) => void },
): Outlet {
  const { runtime, planned, target } = parts
  const { destination, newSecret, shiftBy } = target
  const shift = shiftBy === undefined ? undefined : new TimeShift(shiftBy, runtime.clock)
  const [endpoint = { url: '', headers: {} }] = destination.endpoints
  const urls = destination.endpoints.map(({ url }) => endpointName(url))
  const done = (): Promise<void> => Promise.resolve()
  let taken = 0
  return {
    offer: (row, position) => {
      const reading = readShifted(row, position, shift)
      if (reading.kind === 'rejected') return Promise.resolve(reading)
      const { messageId, request } = reading
      const nowMs = runtime.clock.nowMs()
      const { headers } = composeCaptured(request, endpoint, { newSecret, nowMs })
      const { type, body } = request
      taken++
      planned({
        ...{ messageId, type, urls, body },
        decision: undefined,
        signature: headers['x-signature'] ?? null,
      })
      return Promise.resolve({ kind: 'taken' })
    },
    finish: done,
    stop: done,
    close: done,
    ledger: () => Promise.resolve({ ...emptyLedger, accepted: taken, routed: taken }),
  }
}

type CapturedContent = Pick<CapturedRequest, 'headers' | 'body'>

interface Resigning {
  /** The new secret; undefined to keep the signatures. */
  readonly newSecret: string | undefined
  readonly nowMs: number
}

/**
 * Composes the request that sends a captured one again. It has the same body and the same headers, except for
 * connection headers. Static headers of the endpoint replace captured headers of the same name. If it is
 * signed again, it gets a new X-Signature, and new Standard Webhooks headers if it had them.
 */
function composeCaptured(
  { headers, body }: CapturedContent,
  endpoint: Endpoint,
  { newSecret, nowMs }: Resigning,
): RequestContent {
  const kept = Object.fromEntries(passedOnHeaders(Object.entries(headers)))
  const signatures = newSecret === undefined ? {} : newSignatures(kept, body, { newSecret, nowMs })
  const added = { ...lowerCased(endpoint.headers), ...signatures }
  return { headers: { ...lowerCased(kept), ...added }, body }
}

function newSignatures(
  headers: Readonly<Record<string, string>>,
  body: string,
  { newSecret, nowMs }: { readonly newSecret: string; readonly nowMs: number },
): Readonly<Record<string, string>> {
  const signature = { 'x-signature': signBody(body, newSecret) }
  const id = headers['webhook-id']
  if (id === undefined || headers['webhook-signature'] === undefined) return signature
  const timestamp = Math.floor(nowMs / 1_000)
  return {
    ...signature,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signStandardWebhook({ id, timestamp, body }, newSecret),
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
