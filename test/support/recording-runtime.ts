import type {
  EndpointChange,
  GivenUpDeliveries,
  RequestRecord,
  SettledDelivery,
} from '../../src/model/index.ts'
import { createRuntime, type Clock, type LogFields, type Runtime } from '../../src/runtime/index.ts'

/** 2026-01-02T03:04:05.678Z, where clocks that do not run start. */
export const startMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** A runtime without chance, and everything that was told to it. */
export interface RecordingRuntime {
  readonly runtime: Runtime
  /** What the observer was told of requests, in order. */
  readonly requests: readonly RequestRecord[]
  /** What the observer was told of deliveries, in order. */
  readonly settled: readonly SettledDelivery[]
  /** What the observer was told of deliveries that the store ended, in order. */
  readonly gaveUp: readonly GivenUpDeliveries[]
  /** What the observer was told of endpoints, in order. */
  readonly endpoints: readonly EndpointChange[]
  /** What the log was told that was wanted, in order. */
  readonly infos: readonly (LogFields & { readonly message: string })[]
  /** The warnings in the log, in order. */
  readonly warnings: readonly (LogFields & { readonly message: string })[]
}

/** Makes one around a clock; its random numbers are all 0.5, which leaves waits as they are. */
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
