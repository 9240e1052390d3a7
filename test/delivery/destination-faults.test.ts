import { describe, expect, test } from 'vitest'
import { hiddenEndpoint } from '../../src/model/index.ts'
import { DestinationFaults } from '../../src/delivery/index.ts'
import type { RequestRecord } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

const url = 'https://u:p@example.com/hook?key=no-secret'
const shown = { destinationId: 'crm', url: hiddenEndpoint(url) }
const begins =
  'webhooks to an endpoint are failing and are not retried; correct the endpoint or its URL, then run ' +
  '`evroute deliveries retry --state failed --destination <id>`'
const ends = 'webhooks to an endpoint no longer fail this way'
const lasted = 'webhooks to an endpoint failed and were not retried'
const minuteMs = 60_000

function createFaults() {
  const clock = new ManualClock(startMs)
  const { runtime, warnings, infos } = recordingRuntime(clock)
  const faults = new DestinationFaults(runtime)
  const crm = { id: 'crm', endpoints: [{ url, headers: {} }] }
  faults.configure([crm])
  const ended = (outcome: RequestRecord['outcome'], error: string | null = null): void =>
    faults.note({
      destinationId: 'crm',
      deliveryId: 1,
      messageId: 'm_1',
      url,
      lane: 'first',
      attempt: 1,
      atMs: clock.nowMs(),
      outcome,
      status: null,
      error,
      durationMs: 1,
      excerpt: '',
    })
  return { clock, warnings, infos, faults, crm, ended }
}

describe('the faults of endpoints', () => {
  test('are reported once for each reason while they last', async () => {
    const { clock, warnings, infos, faults, ended } = createFaults()
    for (let second = 0; second < 12; second++) {
      ended('final', 'DEPTH_ZERO_SELF_SIGNED_CERT')
      await clock.advance(1_000)
    }
    ended('final', 'status_404')
    expect(warnings).toEqual([
      { message: begins, ...shown, reason: 'DEPTH_ZERO_SELF_SIGNED_CERT', messageId: 'm_1' },
      { message: begins, ...shown, reason: 'status_404', messageId: 'm_1' },
    ])
    expect(faults.of('crm', url)).toMatchObject([
      {
        reason: 'DEPTH_ZERO_SELF_SIGNED_CERT',
        failures: 12,
        sinceMs: startMs,
        lastMs: startMs + 11_000,
      },
      { reason: 'status_404', failures: 1, sinceMs: startMs + 12_000, lastMs: startMs + 12_000 },
    ])
    expect(infos).toEqual([])
  })

  test('end when the endpoint accepts a webhook again, and are logged a minute later with their count', async () => {
    const { clock, infos, faults, ended } = createFaults()
    for (let failure = 0; failure < 3; failure++) ended('final', 'status_404')
    await clock.advance(2 * minuteMs)
    expect(infos).toEqual([])
    ended('success')
    expect(faults.of('crm', url)).toEqual([])
    await clock.advance(minuteMs)
    expect(infos).toEqual([{ message: ends, ...shown, reason: 'status_404', failures: 3 }])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('are logged once while the endpoint refuses some webhooks and accepts others', async () => {
    const { clock, warnings, infos, faults, ended } = createFaults()
    for (let second = 0; second < 300; second++) {
      ended('success')
      if (second % 30 === 0) ended('final', 'status_400')
      await clock.advance(1_000)
    }
    expect({ warnings: warnings.length, infos: infos.length }).toEqual({ warnings: 1, infos: 0 })
    expect(faults.of('crm', url)).toEqual([])
    ended('final', 'status_400')
    expect(faults.of('crm', url)).toMatchObject([{ reason: 'status_400', failures: 11 }])
  })

  test('end after five minutes without a failure, even if nothing was accepted', async () => {
    const { clock, infos, ended } = createFaults()
    ended('final', 'private_address')
    ended('retry', 'timeout')
    await clock.advance(4.5 * minuteMs)
    expect(infos).toEqual([])
    await clock.advance(minuteMs)
    expect(infos).toEqual([{ message: ends, ...shown, reason: 'private_address', failures: 1 }])
  })

  test('end when their endpoint is removed, and only then', () => {
    const { infos, faults, crm, ended } = createFaults()
    ended('final', 'status_404')
    faults.configure([{ id: 'mail', endpoints: [] }, crm])
    expect(faults.of('crm', url)).toHaveLength(1)
    faults.configure([{ ...crm, endpoints: [] }])
    expect(infos).toMatchObject([{ message: lasted, failures: 1 }])
    ended('final', 'status_404')
    expect(faults.of('crm', url)).toEqual([])
  })

  test('are limited in number, whatever an endpoint answers', () => {
    const { warnings, faults, ended } = createFaults()
    for (let status = 400; status < 500; status++) ended('final', `status_${status}`)
    expect(faults.of('crm', url)).toHaveLength(17)
    expect(faults.of('crm', url).at(-1)).toMatchObject({ reason: 'other', failures: 84 })
    expect(warnings).toHaveLength(17)
  })

  test('are reported with their counts when the service closes', () => {
    const { clock, infos, faults, ended } = createFaults()
    ended('final', 'status_404')
    ended('final', 'status_404')
    faults.close()
    faults.close()
    expect(infos).toEqual([{ message: lasted, ...shown, reason: 'status_404', failures: 2 }])
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('end in time after the clock was set back', async () => {
    const { clock, infos, faults, ended } = createFaults()
    ended('final', 'status_404')
    clock.jump(-24 * 60 * minuteMs)
    await clock.advance(6 * minuteMs)
    expect(infos).toMatchObject([{ message: ends, failures: 1 }])
    expect(faults.of('crm', url)).toEqual([])
  })
})

describe('a full backlog', () => {
  const refuse = (faults: DestinationFaults, deliveries: number, destinationId = 'crm'): void =>
    faults.noteFull({ destinationId, reason: 'backlog_full', deliveries })

  test('is reported once, and again with its count after a minute without a refused delivery', async () => {
    const { clock, warnings, infos, faults } = createFaults()
    for (let second = 0; second < 90; second++) {
      refuse(faults, 2)
      await clock.advance(1_000)
    }
    expect(warnings).toMatchObject([{ destinationId: 'crm' }])
    expect(warnings[0]?.message).toMatch(
      /^the backlog of a destination is full.* then run `evroute deliveries retry --state failed --destination <id>`$/,
    )
    expect(infos).toEqual([])
    await clock.advance(2 * minuteMs)
    const message = 'a destination has room for new deliveries again'
    expect(infos).toEqual([{ message, destinationId: 'crm', failed: 180 }])
    refuse(faults, 1)
    expect(warnings).toHaveLength(2)
  })

  test('is no fault of an endpoint, and is reported with its count when the service closes', () => {
    const { infos, faults } = createFaults()
    refuse(faults, 3)
    refuse(faults, 1, 'unknown')
    expect(faults.of('crm', url)).toEqual([])
    faults.close()
    const message = 'deliveries failed because the backlog of a destination was full'
    expect(infos).toEqual([{ message, destinationId: 'crm', failed: 3 }])
  })
})
