import type { Destination } from '../../src/model/index.ts'
import { createRuntime, lineLog, ManualClock, type Runtime } from '../../src/runtime/index.ts'

/** The time at which the clocks of these tests stand still. */
export const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** `nowMs` as a timestamp. */
export const now = '2026-01-02T03:04:05.678Z'

/** A destination of the source `website`. */
export const crm: Destination = {
  id: 'crm',
  sourceIds: ['website'],
  enabled: true,
  endpoints: [{ url: 'https://crm.example.com/', headers: {} }],
  sharedSecret: undefined,
  aliasKeys: 'spec',
  acceptsHistorical: true,
  concurrency: 10,
}

/** Makes a value with this many nested objects or arrays. */
export function nested(levels: number, open = '[', close = ']'): unknown {
  const innermost = open === '[' ? '' : 'null'
  return JSON.parse(`${open.repeat(levels)}${innermost}${close.repeat(levels)}`)
}

/** Creates a runtime whose clock stands still, with the ids `id-1`, `id-2` and so on. Records the lines of its log. */
export function frozenClockRuntime(): {
  readonly runtime: Runtime
  readonly logged: readonly string[]
} {
  const logged: string[] = []
  let ids = 0
  const runtime = createRuntime({
    clock: new ManualClock(nowMs),
    newId: () => `id-${++ids}`,
    log: lineLog((line) => logged.push(line)),
  })
  return { runtime, logged }
}
