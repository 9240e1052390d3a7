import { describe, expect, test } from 'vitest'
import type { NewEvent } from '../../src/delivery/index.ts'
import { limits } from '../../src/model/index.ts'
import {
  eventAbout,
  notificationAbout,
  type RegulationsUnderTest,
} from './regulation-store-under-test.ts'
import { nowMs } from './store-under-test.ts'

/** Tests of `add` with suppressed users. */
export function suppressSuite(tested: RegulationsUnderTest): void {
  describe('a suppressed user', () => {
    drops(tested)
    limitsSources(tested)
    lifts(tested)
    matchesExactly(tested)
  })
}

function drops(tested: RegulationsUnderTest): void {
  test('can have an id as long as a call', async () => {
    const userId = 'u'.repeat(limits.callBytesMax)
    await tested.create('SUPPRESS_WITH_DELETE', [userId])
    expect(await tested.outcomes([eventAbout(userId)])).toEqual(['suppressed'])
  })

  test.each(['SUPPRESS_ONLY', 'SUPPRESS_WITH_DELETE', 'SUPPRESS_WITH_DELETE_INTERNAL'] as const)(
    'has calls dropped and counted after %s',
    async (type) => {
      await tested.create(type, ['u_1', 'u_2'])
      const events = ['u_1', 'u_2', 'u_3', null].map((userId) => eventAbout(userId))
      expect(await tested.outcomes(events)).toEqual([
        'suppressed',
        'suppressed',
        'routed',
        'routed',
      ])
      expect(await tested.store.ledger()).toMatchObject({
        accepted: 4,
        suppressed: 2,
        routed: 2,
        deliveries: 2,
      })
      expect(await tested.list({ userId: 'u_1' })).toEqual([])
    },
  )

  test.each(['DELETE_ONLY', 'DELETE_INTERNAL', 'DELETE_ARCHIVE_ONLY'] as const)(
    'is not created by %s',
    async (type) => {
      await tested.create(type, ['u_1'])
      expect(await tested.outcomes([eventAbout('u_1')])).toEqual(['routed'])
    },
  )

  test('has duplicates and filtered events suppressed too, without their messageIds being stored', async () => {
    const event = eventAbout('u_1')
    const filtered = eventAbout('u_1', { to: [] })
    await tested.add([event])
    await tested.create('SUPPRESS_ONLY', ['u_1'])
    const later = eventAbout('u_1')
    expect(await tested.outcomes([event, filtered, later])).toEqual([
      'suppressed',
      'suppressed',
      'suppressed',
    ])
    await tested.create('UNSUPPRESS', ['u_1'])
    expect(await tested.outcomes([event, filtered, later, later])).toEqual([
      'duplicate',
      'filtered',
      'routed',
      'duplicate',
    ])
  })

  test('is recognised in the previousId of an alias', async () => {
    await tested.create('SUPPRESS_ONLY', ['u_old'])
    const alias = eventAbout('u_new', { type: 'alias', previousId: 'u_old' })
    const other = eventAbout('u_new', { type: 'alias', previousId: 'u_older' })
    const anonymous = eventAbout(null, { type: 'alias', previousId: 'u_old' })
    expect(await tested.outcomes([alias, other, anonymous])).toEqual([
      'suppressed',
      'routed',
      'suppressed',
    ])
  })

  test('still has notifications delivered', async () => {
    await tested.create('SUPPRESS_ONLY', ['u_1'])
    await tested.create('SUPPRESS_WITH_DELETE', ['u_1'], {
      notifications: [notificationAbout('u_1')],
    })
    expect(await tested.outcomes([notificationAbout('u_1')])).toEqual(['routed'])
    expect(await tested.claim('crm')).toHaveLength(2)
  })

  test('keeps deliveries of events that were accepted before', async () => {
    await tested.add([eventAbout('u_1')])
    const id = await tested.create('SUPPRESS_ONLY', ['u_1'])
    expect(await tested.erase(id)).toBe('nothing')
    expect(await tested.list({ userId: 'u_1' })).toHaveLength(1)
    expect(await tested.claim('crm')).toHaveLength(1)
  })
}

/** An event about `u_1` from a source. */
function from(sourceId: string): NewEvent {
  return eventAbout('u_1', { sourceId })
}

function limitsSources(tested: RegulationsUnderTest): void {
  test('is suppressed for the given sources and their replays', async () => {
    await tested.create('SUPPRESS_ONLY', ['u_1'], { sourceIds: ['website', 'app'] })
    const sourceIds = ['website', 'app', 'shop', 'website/replay-7', 'app/x/y', 'website2', 'web']
    expect(await tested.outcomes(sourceIds.map(from))).toEqual([
      'suppressed',
      'suppressed',
      'routed',
      'suppressed',
      'suppressed',
      'routed',
      'routed',
    ])
  })

  test('is suppressed for all sources if none is given', async () => {
    await tested.create('SUPPRESS_ONLY', ['u_1'])
    const sourceIds = ['website', 'a new one', 'website/replay-7']
    expect(await tested.outcomes(sourceIds.map(from))).toEqual(sourceIds.map(() => 'suppressed'))
  })
}

function lifts(tested: RegulationsUnderTest): void {
  test('is accepted again from the sources of an UNSUPPRESS', async () => {
    await tested.create('SUPPRESS_ONLY', ['u_1'], { sourceIds: ['website', 'app'] })
    await tested.create('UNSUPPRESS', ['u_1', 'u_2'], { sourceIds: ['app', 'shop'] })
    expect(await tested.outcomes(['website', 'app'].map(from))).toEqual(['suppressed', 'routed'])
    await tested.create('UNSUPPRESS', ['u_1'], { sourceIds: ['website'] })
    expect(await tested.outcomes(['website', 'app'].map(from))).toEqual(['routed', 'routed'])
  })

  test('stays suppressed for all sources after an UNSUPPRESS for some', async () => {
    await tested.create('SUPPRESS_ONLY', ['u_1'], { sourceIds: ['website'] })
    await tested.create('SUPPRESS_ONLY', ['u_1'])
    await tested.create('UNSUPPRESS', ['u_1'], { sourceIds: ['website', 'app'] })
    expect(await tested.outcomes(['website', 'app'].map(from))).toEqual([
      'suppressed',
      'suppressed',
    ])
  })

  test('is accepted again from all sources after an UNSUPPRESS for all', async () => {
    await tested.create('SUPPRESS_ONLY', ['u_1', 'u_2'], { sourceIds: ['website'] })
    await tested.create('SUPPRESS_ONLY', ['u_1'])
    const id = await tested.create('UNSUPPRESS', ['u_1'])
    expect(await tested.erase(id)).toBe('nothing')
    expect(await tested.outcomes(['website', 'app'].map(from))).toEqual(['routed', 'routed'])
    expect(await tested.outcomes([eventAbout('u_2')])).toEqual(['suppressed'])
  })

  test('can be suppressed again', async () => {
    await tested.create('SUPPRESS_ONLY', ['u_1'], { atMs: nowMs })
    await tested.create('UNSUPPRESS', ['u_1'], { atMs: nowMs + 1 })
    await tested.create('SUPPRESS_ONLY', ['u_1'], { atMs: nowMs + 2 })
    await tested.create('SUPPRESS_ONLY', ['u_1'], { atMs: nowMs + 3 })
    expect(await tested.outcomes([eventAbout('u_1')])).toEqual(['suppressed'])
  })
}

/** UserIds that an engine might confuse with each other. */
export const oddIds: readonly string[] = [
  'u\0a',
  'u\ud800',
  'u%',
  'u_',
  "u'",
  'u"',
  'u',
  'uu',
  'U',
  ' u',
  'ü',
  'u\u001a0000',
  '\u001a',
]

function matchesExactly(tested: RegulationsUnderTest): void {
  test('is matched by its exact userId, whatever its characters', async () => {
    for (const userId of oddIds) {
      await tested.create('SUPPRESS_ONLY', [userId])
      const events = oddIds.map((id) => eventAbout(id))
      const expected = oddIds.map((id) => (id === userId ? 'suppressed' : 'routed'))
      expect(await tested.outcomes(events)).toEqual(expected)
      await tested.create('UNSUPPRESS', [userId])
    }
  })
}
