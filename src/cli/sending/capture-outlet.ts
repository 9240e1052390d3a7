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
 * Sends captured requests again. Bypasses the client and the router, which would turn them into new webhooks.
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
          // One at a time, to keep their order.
          concurrency: 1,
          compose: (webhook, endpoint) => {
            const nowMs = runtime.clock.nowMs()
            return composeCaptured(readCapturedText(webhook.body), endpoint, { newSecret, nowMs })
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
    const reading = readCapturedRequest(row)
    if (reading.kind === 'rejected') return reading
    const { request } = reading
    const body = this.#shift?.apply(request.body) ?? request.body
    const delivery = {
      destinationId: this.#destinationId,
      body: capturedText({ ...request, body }),
    }
    this.#taken++
    const event = {
      // Use a separate source for each request, because a webhook that was received twice is sent twice.
      sourceId: `capture:${this.#taken}`,
      messageId: request.messageId ?? capturedId(position),
      type: request.type,
      userId: request.userId,
      deliveries: [delivery],
    }
    await this.#pipeline.add([event])
    return { kind: 'taken' }
  }

  finish(): Promise<void> {
    return this.#pipeline.idle()
  }

  stop(): Promise<void> {
    return this.#pipeline.stop(stopGraceMs)
  }

  ledger(): Promise<OutletLedger> {
    return this.#pipeline.ledger()
  }

  close(): Promise<void> {
    return this.#pipeline.close()
  }
}

/** Makes the id of a request that has no messageId in its body. */
function capturedId({ line }: RowPosition): string {
  return `line-${line}`
}

type CapturePlanParts = OutletParts & {
  readonly target: CapturedTarget
  readonly planned: (plan: Plan) => void
}

/** A dry run of a capture: plans requests and sends none. */
export class CapturePlanOutlet implements Outlet {
  readonly #parts: CapturePlanParts
  readonly #shift: TimeShift | undefined
  #taken = 0

  constructor(parts: CapturePlanParts) {
    const { target, runtime } = parts
    this.#parts = parts
    this.#shift =
      target.shiftBy === undefined ? undefined : new TimeShift(target.shiftBy, runtime.clock)
  }

  offer(row: JsonObject, position: RowPosition): Promise<OfferResult> {
    const reading = readCapturedRequest(row)
    if (reading.kind === 'rejected') return Promise.resolve(reading)
    const { request } = reading
    const { target, runtime, planned } = this.#parts
    const [endpoint = { url: '', headers: {} }] = target.destination.endpoints
    const captured = { ...request, body: this.#shift?.apply(request.body) ?? request.body }
    const { newSecret } = target
    const nowMs = runtime.clock.nowMs()
    const { headers } = composeCaptured(captured, endpoint, { newSecret, nowMs })
    this.#taken++
    planned({
      messageId: request.messageId ?? capturedId(position),
      type: request.type,
      decision: undefined,
      urls: target.destination.endpoints.map(({ url }) => endpointName(url)),
      body: captured.body,
      signature: headers['x-signature'] ?? null,
    })
    return Promise.resolve({ kind: 'taken' })
  }

  finish(): Promise<void> {
    return Promise.resolve()
  }

  stop(): Promise<void> {
    return Promise.resolve()
  }

  ledger(): Promise<OutletLedger> {
    return Promise.resolve({ ...emptyLedger, accepted: this.#taken, routed: this.#taken })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

type CapturedContent = Pick<CapturedRequest, 'headers' | 'body'>

/** Serialises a captured request: a store keeps one text per delivery. */
function capturedText({ headers, body }: CapturedContent): string {
  return JSON.stringify({ headers, body })
}

function readCapturedText(text: string): CapturedContent {
  return JSON.parse(text) as CapturedContent
}

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
