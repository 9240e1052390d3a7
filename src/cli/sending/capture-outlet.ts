import type { JsonObject } from '../../model/index.ts'
import { Pipeline } from '../../pipeline/index.ts'
import { openStore, type Store } from '../../store/index.ts'
import type { OfferResult, RowPlace } from './call-queue.ts'
import { readCapturedRequest } from './captured-request.ts'
import { capturedText, composeCaptured, readCapturedText } from './compose-captured.ts'
import { stopGraceMs, type Outlet, type OutletLedger, type OutletParts } from './outlet.ts'
import type { CapturedTarget } from './sending-options.ts'
import { TimeShift } from './time-shift.ts'

type CaptureOutletParts = OutletParts & { readonly target: CapturedTarget }

/** Sends captured requests again. It bypasses client and router, which would make new webhooks of them. */
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

  async offer(row: JsonObject, place: RowPlace): Promise<OfferResult> {
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
      // A separate source for each request: a webhook that was received twice is sent twice.
      sourceId: `capture:${this.#taken}`,
      messageId: request.messageId ?? capturedId(place),
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

/** The id of a request without a messageId in its body. */
export function capturedId({ line }: RowPlace): string {
  return `line-${line}`
}
