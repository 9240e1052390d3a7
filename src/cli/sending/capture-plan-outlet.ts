import { emptyLedger, endpointName, type JsonObject } from '../../model/index.ts'
import type { OfferResult, RowPlace } from './call-queue.ts'
import { capturedId } from './capture-outlet.ts'
import { readCapturedRequest } from './captured-request.ts'
import { composeCaptured } from './compose-captured.ts'
import type { Plan } from './dry-outlet.ts'
import type { Outlet, OutletLedger, OutletParts } from './outlet.ts'
import type { CapturedTarget } from './sending-options.ts'
import { TimeShift } from './time-shift.ts'

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

  offer(row: JsonObject, place: RowPlace): Promise<OfferResult> {
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
      messageId: request.messageId ?? capturedId(place),
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
