import { describe, expect, test } from 'vitest'
import type { DueTime } from '../../src/delivery/index.ts'
import { WaitingTimes } from '../../src/delivery/waiting-times.ts'
import { startMs } from '../support/recording-runtime.ts'

const dueSoon = { destinationId: 'crm', lane: 'retry', dueAtMs: startMs } as const

/** Asks for all unknown due times, and learns the answer. */
function answer(times: WaitingTimes, dueTimes: readonly DueTime[]): void {
  const queried = [...times.toAsk]
  times.ask(queried)
  times.learn(queried, dueTimes)
}

/** Makes times of one destination. The store has answered that only a retry waits. */
function informed(): WaitingTimes {
  const times = new WaitingTimes()
  times.watch(['crm'])
  answer(times, [dueSoon])
  return times
}

describe('a deferred destination', () => {
  function deferred(): WaitingTimes {
    const times = informed()
    times.defer('crm')
    expect([...times.waitedFor]).toEqual([])
    expect([...times.deferred]).toEqual(['crm'])
    expect(times.isNothingWaitedFor).toBe(false)
    return times
  }

  test.each<[string, (times: WaitingTimes) => void]>([
    ['it is recalled', (times) => times.recall('crm')],
    ['all are recalled', (times) => times.recallAll()],
    ['a delivery is added', (times) => times.add('crm', 'first', startMs)],
    ['the destinations change', (times) => times.watch(['mail', 'crm'])],
  ])('is waited for again once %s', (_, change) => {
    const times = deferred()
    change(times)
    expect([...times.waitedFor]).toEqual(['crm'])
    expect([...times.deferred]).toEqual([])
  })

  test('is forgotten once it is empty or removed', () => {
    for (const change of [
      (times: WaitingTimes) => times.empty('crm', 'retry'),
      (times: WaitingTimes) => times.watch(['mail']),
    ]) {
      const times = deferred()
      change(times)
      expect(times.isNothingWaitedFor).toBe(true)
    }
  })
})

describe('the destinations to ask for', () => {
  test('are all at first, each once', () => {
    const times = new WaitingTimes()
    times.watch(['crm', 'mail'])
    expect(times.isEmpty('crm', 'first')).toBe(false)
    expect(times.dueAtMs('crm', 'first')).toBeUndefined()
    expect([...times.toAsk]).toEqual(['crm', 'mail'])
    times.ask(['crm'])
    expect([...times.toAsk]).toEqual(['mail'])
  })

  test('are those whose times became unknown, or all of them on request', () => {
    const times = new WaitingTimes()
    times.watch(['crm', 'mail'])
    answer(times, [])
    times.forget('mail', 'manual')
    expect([...times.toAsk]).toEqual(['mail'])
    answer(times, [])
    times.askAgain()
    expect([...times.toAsk]).toEqual(['crm', 'mail'])
  })
})

describe('an answer of the store', () => {
  test('sets the due times of its lanes, and marks the other lanes as empty', () => {
    const times = informed()
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs)
    expect(times.isEmpty('crm', 'retry')).toBe(false)
    expect(times.dueAtMs('crm', 'first')).toBeUndefined()
    expect(times.isEmpty('crm', 'first')).toBe(true)
    expect(times.isEmpty('crm', 'manual')).toBe(true)
  })

  test.each([
    { answered: startMs + 5, came: startMs, known: startMs },
    { answered: startMs, came: startMs + 5, known: startMs },
    { answered: undefined, came: startMs + 5, known: startMs + 5 },
  ])(
    'is merged with deliveries that arrived meanwhile: the earlier time counts',
    ({ answered, came, known }) => {
      const times = new WaitingTimes()
      times.watch(['crm'])
      times.ask(['crm'])
      times.add('crm', 'first', came)
      const dueTime = { destinationId: 'crm', lane: 'first', dueAtMs: answered ?? 0 } as const
      times.learn(['crm'], answered === undefined ? [] : [dueTime])
      expect(times.dueAtMs('crm', 'first')).toBe(known)
      expect([...times.toAsk]).toEqual([])
    },
  )

  test('counts even if everything must be asked for again', () => {
    const times = new WaitingTimes()
    times.watch(['crm'])
    times.ask(['crm'])
    times.askAgain()
    times.learn(['crm'], [dueSoon])
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs)
    expect([...times.toAsk]).toEqual(['crm'])
  })

  test('replaces the earlier times', () => {
    const times = informed()
    times.askAgain()
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs)
    answer(times, [{ ...dueSoon, dueAtMs: startMs + 1 }])
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs + 1)
  })
})

describe('a claim that emptied a lane', () => {
  test('leaves it empty, except for deliveries that arrived meanwhile', () => {
    const times = informed()
    times.claim('crm', 'retry')
    times.empty('crm', 'retry')
    expect(times.isEmpty('crm', 'retry')).toBe(true)
    times.claim('crm', 'first')
    times.add('crm', 'first', startMs + 7)
    times.empty('crm', 'first')
    expect(times.dueAtMs('crm', 'first')).toBe(startMs + 7)
    expect([...times.toAsk]).toEqual([])
  })
})

describe('a new waiting delivery', () => {
  test('sets the time of an empty lane', () => {
    const times = informed()
    times.add('crm', 'first', startMs + 7)
    expect(times.dueAtMs('crm', 'first')).toBe(startMs + 7)
    expect([...times.toAsk]).toEqual([])
  })

  test('changes the time only if it is due before the others', () => {
    const times = informed()
    times.add('crm', 'retry', startMs + 7)
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs)
    times.add('crm', 'retry', startMs - 7)
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs - 7)
  })

  test('does not replace the query for an unknown lane', () => {
    const times = new WaitingTimes()
    times.watch(['crm'])
    times.add('crm', 'first', startMs)
    expect(times.dueAtMs('crm', 'first')).toBe(startMs)
    expect([...times.toAsk]).toEqual(['crm'])
  })
})

describe('the destinations with waiting deliveries', () => {
  /** Makes times of three destinations: the first has none, the second a retry, the third is unknown. */
  function some(): WaitingTimes {
    const times = new WaitingTimes()
    times.watch(['idle', 'crm', 'mail'])
    answer(times, [dueSoon])
    times.forget('mail', 'first')
    return times
  }

  test('are those with a known time', () => {
    expect([...some().waitedFor]).toEqual(['crm'])
  })

  test('include others once their times are known', () => {
    const times = some()
    times.add('idle', 'first', startMs)
    answer(times, [{ destinationId: 'mail', lane: 'first', dueAtMs: startMs }])
    times.watch(['idle', 'crm', 'mail', 'other'])
    expect([...times.waitedFor].toSorted()).toEqual(['crm', 'idle', 'mail'])
  })

  test.each([
    { what: 'forget', change: (times: WaitingTimes) => times.forget('crm', 'retry') },
    { what: 'watch', change: (times: WaitingTimes) => times.watch(['idle', 'mail']) },
  ])('are none after $what', ({ change }) => {
    const times = some()
    change(times)
    expect([...times.waitedFor]).toEqual([])
  })

  test('are in the order in which they were served', () => {
    const times = some()
    times.add('mail', 'first', startMs)
    times.serve('crm')
    expect([...times.waitedFor]).toEqual(['mail', 'crm'])
  })

  test('include a destination whose other lane is still known', () => {
    const times = some()
    times.add('crm', 'first', startMs)
    times.forget('crm', 'retry')
    expect([...times.waitedFor]).toEqual(['crm'])
  })
})

test('destinations that are not watched are ignored', () => {
  const times = informed()
  times.add('mail', 'first', startMs)
  times.forget('mail', 'first')
  times.learn(['mail'], [{ ...dueSoon, destinationId: 'mail' }])
  expect(times.dueAtMs('mail', 'retry')).toBeUndefined()
  expect(times.isEmpty('mail', 'first')).toBe(false)
  expect([...times.toAsk]).toEqual([])
})
