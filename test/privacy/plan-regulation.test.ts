import { describe, expect, test } from 'vitest'
import {
  planRegulation,
  regulationUsersMax,
  type RegulationPlan,
  type RegulationPlanOptions,
} from '../../src/privacy/index.ts'
import { crm, now, nowMs } from '../intake/support.ts'

function plan(changes: Partial<RegulationPlanOptions> = {}): RegulationPlan {
  return planRegulation({
    type: 'SUPPRESS_WITH_DELETE',
    userIds: ['u_1'],
    sourceIds: null,
    sources: [{ id: 'website' }, { id: 'app' }],
    destinations: [crm],
    nowMs,
    newId: () => 'an id',
    ...changes,
  })
}

function planned(changes: Partial<RegulationPlanOptions> = {}) {
  const outcome = plan(changes)
  if (outcome.kind !== 'planned') throw new Error(`It is refused: ${outcome.kind}`)
  return outcome
}

describe('planRegulation', () => {
  test('names each user once, in order', () => {
    const { regulation } = planned({ userIds: ['u_2', 'u_1', 'u_2'], sourceIds: ['app', 'app'] })
    expect(regulation).toEqual({
      id: expect.stringMatching(/^reg_[0-9A-Za-z]{27}$/) as string,
      type: 'SUPPRESS_WITH_DELETE',
      userIds: ['u_2', 'u_1'],
      sourceIds: ['app'],
    })
  })

  test('makes unique ids', () => {
    let count = 0
    const newId = (): string => `id-${++count}`
    const ids = Array.from({ length: 100 }, () => planned({ newId }).regulation.id)
    expect(new Set(ids).size).toBe(100)
    for (const id of ids) expect(id).toMatch(/^reg_[0-9A-Za-z]{27}$/)
  })

  test('notifies each enabled destination once per user and source', () => {
    const destinations = [
      crm,
      { ...crm, id: 'mail', sourceIds: ['website', 'app'] },
      { ...crm, id: 'off', enabled: false, sourceIds: ['website', 'unconnected'] },
    ]
    const sources = [{ id: 'website' }, { id: 'app' }, { id: 'unconnected' }]
    const { regulation, notifications } = planned({
      userIds: ['u_1', 'u "2"'],
      sources,
      destinations,
    })
    const body = (userId: string) => JSON.stringify({ type: 'delete', userId, timestamp: now })
    const event = (
      count: number,
      [sourceId, userId]: readonly string[],
      to: readonly string[],
    ) => ({
      sourceId,
      messageId: `${regulation.id}/${count}`,
      type: 'delete',
      userId,
      deliveries: to.map((destinationId) => ({ destinationId, body: body(userId ?? '') })),
    })
    expect(notifications).toEqual([
      event(1, ['website', 'u_1'], ['crm', 'mail']),
      event(2, ['app', 'u_1'], ['mail']),
      event(3, ['website', 'u "2"'], ['crm', 'mail']),
      event(4, ['app', 'u "2"'], ['mail']),
    ])
  })

  test('notifies only the destinations of the named sources', () => {
    const both = [{ ...crm, sourceIds: ['website', 'app'] }]
    const { notifications } = planned({ sourceIds: ['app'], destinations: both })
    expect(notifications.map(({ sourceId }) => sourceId)).toEqual(['app'])
  })

  test.each([
    ['SUPPRESS_WITH_DELETE', 1],
    ['SUPPRESS_WITH_DELETE_INTERNAL', 0],
    ['SUPPRESS_ONLY', 0],
    ['DELETE_ONLY', 1],
    ['DELETE_INTERNAL', 0],
    ['DELETE_ARCHIVE_ONLY', 0],
    ['UNSUPPRESS', 0],
  ] as const)('for the type %s, plans %i notifications', (type, count) => {
    expect(planned({ type }).notifications).toHaveLength(count)
  })

  const usersMax = regulationUsersMax
  const userIdLengthMax = 32_768
  const users = (count: number) => Array.from({ length: count }, (_, n) => `u_${n}`)

  test('accepts as many different users, and ids as long, as the limits allow', () => {
    const { notifications } = planned({ userIds: [...users(usersMax), 'u_1'] })
    expect(notifications).toHaveLength(usersMax)
    expect(planned({ userIds: ['x'.repeat(userIdLengthMax)] }).notifications).toHaveLength(1)
  })

  test.each([
    ['no users', { userIds: [] }, 'without a user id'],
    [
      'too many users',
      { userIds: users(usersMax + 1) },
      `for ${usersMax + 1} users: at most ${usersMax}`,
    ],
    [
      'an empty id',
      { userIds: ['u_1', 'u_1', ''] },
      `user id 3: it must have 1 to ${userIdLengthMax}`,
    ],
    ['an id that is too long', { userIds: ['x'.repeat(userIdLengthMax + 1)] }, 'user id 1'],
    ['no sources', { sourceIds: [] }, 'an empty list of sources'],
  ])('refuses %s', (_, changes, message) => {
    expect(() => plan(changes)).toThrow(message)
  })

  test('reports an unknown source with the known ones', () => {
    const knownIds = ['website', 'app']
    expect(plan({ sourceIds: ['app', 'shop'] })).toEqual({ kind: 'unknown_source', knownIds })
  })
})
