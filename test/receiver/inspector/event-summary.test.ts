import { expect, test } from 'vitest'
import { EventLog } from '../../../src/receiver/event-log.ts'
import { EventSummaries } from '../../../src/receiver/inspector/event-summary.ts'
import type { UnnumberedEvent } from '../../../src/receiver/received-event.ts'
import { Waits } from '../../../src/receiver/waits.ts'
import { ManualClock, silentLog } from '../../../src/runtime/index.ts'

function eventWith(userId: string): UnnumberedEvent {
  return {
    atMs: 0,
    method: 'POST',
    path: '/',
    headers: {},
    rawBody: Buffer.alloc(0),
    bytes: 0,
    kind: 'webhook',
    type: 'page',
    userId,
    body: { type: 'page' },
    code: null,
    signature: 'valid',
    reason: null,
    diagnosis: null,
    endpoint: null,
    status: 200,
    injected: null,
    withheld: null,
    forward: null,
    durationMs: 1,
  }
}

test('each event has its own summary, however many events were dropped between two reads', async () => {
  const log = new EventLog(10, silentLog, new Waits(new ManualClock(0)))
  const summaries = new EventSummaries(log)
  for (const count of [3, 1, 50, 4, 0, 200]) {
    for (let added = 0; added < count; added++) {
      await log.add(() => eventWith(`u_${log.counts.received + 1}`))
    }
    const read = summaries.after(0)
    expect(read.map(({ seq }) => seq)).toEqual(log.events.map(({ seq }) => seq))
    for (const event of read) {
      const { seq, userId } = event
      expect(summaries.of(event)).toMatchObject({ seq, userId })
    }
  }
})
