import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { regulationTypes } from '../../src/model/index.ts'
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
const erased: Regulation = { ...created, isStoreErased: true, archive, streams: [] }
const done: Regulation = { ...erased, finishedAtMs: 2 }

describe('overallStatus', () => {
  const cases: readonly (readonly [string, Regulation, OverallStatus])[] = [
    ['just stored', created, 'INITIALIZED'],
    ['partly erased', { ...created, erased: { pending: 0, settled: 1, members: 0 } }, 'RUNNING'],
    ['whose users are erased from the store', { ...created, isStoreErased: true }, 'RUNNING'],
    ['whose archives are erased', { ...created, archive }, 'RUNNING'],
    [
      'with some notifications ended',
      { ...created, streams: [stream({ pending: 1, failed: 1 })] },
      'RUNNING',
    ],
    ['whose archives are not erased', { ...erased, archive: null }, 'RUNNING'],
    ['with a pending notification', { ...erased, streams: [stream({ pending: 1 })] }, 'RUNNING'],
    ['whose files still contain the users', erased, 'RUNNING'],
    ['without notifications, finished', done, 'FINISHED'],
    [
      'with all notifications delivered',
      { ...done, streams: [stream({ delivered: 2 })] },
      'FINISHED',
    ],
    [
      'with some notifications delivered',
      { ...done, streams: [stream({ delivered: 1 }), stream({ expired: 1 })] },
      'PARTIAL_SUCCESS',
    ],
    [
      'with no notification delivered',
      { ...done, streams: [stream({ failed: 1, expired: 1 })] },
      'FAILED',
    ],
    ['with a problem', { ...done, archive: { ...archive, problems: ['a'] } }, 'PARTIAL_SUCCESS'],
    [
      'with a problem, and no notification delivered',
      { ...done, archive: { ...archive, problems: ['a'] }, streams: [stream({ failed: 1 })] },
      'FAILED',
    ],
    ['of archives only', { ...created, type: 'DELETE_ARCHIVE_ONLY', streams: [] }, 'INITIALIZED'],
    [
      'of archives only, done',
      { ...done, type: 'DELETE_ARCHIVE_ONLY', isStoreErased: false },
      'FINISHED',
    ],
    ['that only suppresses', { ...done, type: 'SUPPRESS_ONLY', isStoreErased: false }, 'FINISHED'],
    [
      'finished, with a manual retry',
      { ...done, streams: [stream({ pending: 1, delivered: 1 })] },
      'FINISHED',
    ],
    [
      'finished, with an archive that was released and came back',
      { ...done, archivesLeft: ['/archive on web-1'] },
      'RUNNING',
    ],
  ]
  test.each(cases)('is right for a regulation %s', (_, regulation, status) => {
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

  test('is final only once the regulation has finished, and FINISHED if nothing went wrong', () => {
    fc.assert(
      fc.property(regulations, (changes) => {
        const regulation = { ...created, ...changes }
        const status = overallStatus(regulation)
        const sum = (name: keyof typeof none): number =>
          regulation.streams.reduce((total, each) => total + each[name], 0)
        const isOver = regulation.finishedAtMs !== null
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
