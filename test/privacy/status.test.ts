import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { effectsOf, regulationTypes } from '../../src/model/index.ts'
import {
  overallStatus,
  streamStatus,
  type NotificationStream,
  type OverallStatus,
  type Regulation,
} from '../../src/privacy/index.ts'

const none = { pending: 0, delivered: 0, failed: 0, expired: 0 }
const stream = (changes: Partial<NotificationStream> = {}): NotificationStream => ({
  sourceId: 'website',
  destinationId: 'crm',
  ...none,
  ...changes,
})

const created: Regulation = {
  id: 'reg_1',
  type: 'DELETE_ONLY',
  userIds: ['u_1'],
  sourceIds: null,
  createdAtMs: 1,
  finishedAtMs: null,
  isStoreErased: false,
  erased: { pending: 0, settled: 0, members: 0 },
  archive: null,
  streams: [stream({ pending: 2 })],
}

const archive = { events: 0, files: 0, problems: [] }
const done: Regulation = { ...created, isStoreErased: true, archive, streams: [] }

describe('overallStatus', () => {
  const cases: readonly (readonly [string, Regulation, OverallStatus])[] = [
    ['stored', created, 'INITIALIZED'],
    ['partly erased', { ...created, erased: { pending: 0, settled: 1, members: 0 } }, 'RUNNING'],
    ['with a store that has nothing', { ...created, isStoreErased: true }, 'RUNNING'],
    ['with archives that are done', { ...created, archive }, 'RUNNING'],
    ['partly told', { ...created, streams: [stream({ pending: 1, failed: 1 })] }, 'RUNNING'],
    ['without archives done', { ...done, archive: null }, 'RUNNING'],
    ['not told yet', { ...done, streams: [stream({ pending: 1 })] }, 'RUNNING'],
    ['with nobody to tell', done, 'FINISHED'],
    ['told', { ...done, streams: [stream({ delivered: 2 })] }, 'FINISHED'],
    [
      'told to some',
      { ...done, streams: [stream({ delivered: 1 }), stream({ expired: 1 })] },
      'PARTIAL_SUCCESS',
    ],
    ['told to nobody', { ...done, streams: [stream({ failed: 1, expired: 1 })] }, 'FAILED'],
    ['with a problem', { ...done, archive: { ...archive, problems: ['a'] } }, 'PARTIAL_SUCCESS'],
    [
      'with a problem, told to nobody',
      { ...done, archive: { ...archive, problems: ['a'] }, streams: [stream({ failed: 1 })] },
      'FAILED',
    ],
    ['of archives only', { ...created, type: 'DELETE_ARCHIVE_ONLY', streams: [] }, 'INITIALIZED'],
    [
      'of archives only, done',
      { ...created, type: 'DELETE_ARCHIVE_ONLY', archive, streams: [] },
      'FINISHED',
    ],
    ['that only suppresses', { ...created, type: 'SUPPRESS_ONLY', streams: [] }, 'FINISHED'],
    [
      'finished, with one retried by hand',
      { ...done, finishedAtMs: 2, streams: [stream({ pending: 1, delivered: 1 })] },
      'FINISHED',
    ],
  ]
  test.each(cases)('tells one %s', (_, regulation, status) => {
    expect(overallStatus(regulation)).toBe(status)
  })

  const count = fc.nat({ max: 3 })
  const streams = fc.array(
    fc.record({ pending: count, delivered: count, failed: count, expired: count }).map(stream),
    { maxLength: 3 },
  )
  const regulations = fc.record({
    type: fc.constantFrom(...regulationTypes),
    finishedAtMs: fc.constantFrom(null, 2),
    isStoreErased: fc.boolean(),
    erased: fc.record({ pending: count, settled: count, members: count }),
    archive: fc.constantFrom(null, archive, { ...archive, problems: ['a'] }),
    streams,
  })

  test('is over exactly where nothing is left, and a success where nothing went wrong', () => {
    fc.assert(
      fc.property(regulations, (changes) => {
        const regulation = { ...created, ...changes }
        const status = overallStatus(regulation)
        const { erasesStore, erasesArchives } = effectsOf(regulation.type)
        const sum = (name: keyof typeof none): number =>
          regulation.streams.reduce((total, each) => total + each[name], 0)
        const isLeft =
          (erasesStore && !regulation.isStoreErased) ||
          (erasesArchives && regulation.archive === null) ||
          sum('pending') > 0
        const isOver = regulation.finishedAtMs !== null || !isLeft
        expect(['FINISHED', 'PARTIAL_SUCCESS', 'FAILED'].includes(status)).toBe(isOver)
        if (!isOver) return
        const lost = sum('failed') + sum('expired')
        expect(status === 'FAILED').toBe(lost > 0 && sum('delivered') === 0)
        expect(status === 'FINISHED').toBe(
          lost === 0 && (regulation.archive?.problems.length ?? 0) === 0,
        )
      }),
    )
  })

  test('is RUNNING while an archive of another process is left, and only then', () => {
    const waiting = { ...done, finishedAtMs: null, archivesLeft: ['/archive on web-1'] }
    expect(overallStatus(waiting)).toBe('RUNNING')
    expect(overallStatus({ ...waiting, archivesLeft: [] })).toBe('FINISHED')
  })

  test('is never further than any of its streams', () => {
    fc.assert(
      fc.property(streams, (each) => {
        const status = overallStatus({ ...done, streams: each })
        const statuses = each.map(streamStatus)
        const isUnderWay = (one: OverallStatus) => one === 'INITIALIZED' || one === 'RUNNING'
        expect(isUnderWay(status)).toBe(statuses.some(isUnderWay))
      }),
    )
  })
})

describe('streamStatus', () => {
  test.each([
    [{ pending: 1 }, 'INITIALIZED'],
    [{ pending: 1, delivered: 1 }, 'RUNNING'],
    [{ pending: 1, failed: 1 }, 'RUNNING'],
    [{ delivered: 1 }, 'FINISHED'],
    [{ delivered: 1, failed: 1 }, 'PARTIAL_SUCCESS'],
    [{ delivered: 1, expired: 1 }, 'PARTIAL_SUCCESS'],
    [{ failed: 1 }, 'FAILED'],
    [{ failed: 1, expired: 1 }, 'FAILED'],
  ])('of %j is %s', (counts, status) => {
    expect(streamStatus(stream(counts))).toBe(status)
  })
})
