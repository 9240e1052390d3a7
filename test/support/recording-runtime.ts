import type {
  EndpointChange,
  GivenUpDeliveries,
  RequestRecord,
  SettledDelivery,
} from '../../src/model/index.ts'
import { createRuntime, type Clock, type LogFields, type Runtime } from '../../src/runtime/index.ts'

/** The initial time of manual clocks: 2026-01-02T03:04:05.678Z. */
export const startMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** A deterministic runtime, and everything its observer and its log received, in order. */
export interface RecordingRuntime {
  readonly runtime: Runtime
  readonly requests: readonly RequestRecord[]
  readonly settled: readonly SettledDelivery[]
  /** Deliveries that the store gave up. */
  readonly gaveUp: readonly GivenUpDeliveries[]
  readonly endpoints: readonly EndpointChange[]
  /** The info lines in the log. */
  readonly infos: readonly (LogFields & { readonly message: string })[]
  /** The warnings in the log. */
  readonly warnings: readonly (LogFields & { readonly message: string })[]
}

/** Makes a recording runtime. Its random numbers are all 0.5, at which retries of deliveries have no jitter. */
export function recordingRuntime(clock: Clock): RecordingRuntime {
  const requests: RequestRecord[] = []
  const settled: SettledDelivery[] = []
  const gaveUp: GivenUpDeliveries[] = []
  const endpoints: EndpointChange[] = []
  const infos: (LogFields & { readonly message: string })[] = []
  const warnings: (LogFields & { readonly message: string })[] = []
  let ids = 0
  const runtime = createRuntime({
    clock,
    random: () => 0.5,
    newId: () => `id-${++ids}`,
    log: {
      debug: () => undefined,
      info: (message, fields) => infos.push({ ...fields, message }),
      warn: (message, fields) => warnings.push({ ...fields, message }),
    },
    observer: {
      request: (record) => requests.push(record),
      settled: (delivery) => settled.push(delivery),
      gaveUp: (deliveries) => gaveUp.push(deliveries),
      endpoint: (change) => endpoints.push(change),
    },
  })
  return { runtime, requests, settled, gaveUp, endpoints, infos, warnings }
}
