import { describe, expect, test } from 'vitest'
import { WaitingTimes } from '../../src/delivery/waiting-times.ts'
import { startMs } from '../support/recording-runtime.ts'

const dueSoon = { destinationId: 'crm', lane: 'retry', dueAtMs: startMs } as const

/** Of one destination, about which the store has answered that nothing waits but a retry. */
function informed(): WaitingTimes {
  const times = new WaitingTimes(['crm'])
  times.learn(times.ask(), [dueSoon])
  return times
}

describe('what the store is asked', () => {
  test('is all at the beginning, once', () => {
    const times = new WaitingTimes(['crm', 'mail'])
    expect(times.isEmpty('crm', 'first')).toBe(false)
    expect(times.dueAtMs('crm', 'first')).toBeUndefined()
    expect(times.ask()).toEqual(['crm', 'mail'])
    expect(times.ask()).toEqual([])
  })

  test('is only what became unknown', () => {
    const times = new WaitingTimes(['crm', 'mail'])
    times.learn(times.ask(), [])
    times.forget('mail', 'manual')
    expect(times.ask()).toEqual(['mail'])
    times.learn(['mail'], [])
    times.forgetAll()
    expect(times.ask()).toEqual(['crm', 'mail'])
  })
})

describe('what the store answers', () => {
  test('is when the first of a lane is due, and that the others are empty', () => {
    const times = informed()
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs)
    expect(times.isEmpty('crm', 'retry')).toBe(false)
    expect(times.dueAtMs('crm', 'first')).toBeUndefined()
    expect(times.isEmpty('crm', 'first')).toBe(true)
    expect(times.isEmpty('crm', 'manual')).toBe(true)
  })

  test.each([
    { name: 'was added', change: (times: WaitingTimes) => times.add('crm', 'first', startMs) },
    { name: 'was forgotten', change: (times: WaitingTimes) => times.forget('crm', 'first') },
    { name: 'was all forgotten', change: (times: WaitingTimes) => times.forgetAll() },
  ])('does not count for what $name since it was asked', ({ change }) => {
    const times = new WaitingTimes(['crm'])
    const asked = times.ask()
    change(times)
    times.learn(asked, [])
    expect(times.isEmpty('crm', 'first')).toBe(false)
    expect(times.ask()).toEqual(['crm'])
    times.learn(['crm'], [{ ...dueSoon, lane: 'first' }])
    expect(times.dueAtMs('crm', 'first')).toBe(startMs)
  })

  test('changes nothing that is known already', () => {
    const times = informed()
    times.forget('crm', 'first')
    times.learn(times.ask(), [{ ...dueSoon, dueAtMs: startMs + 1 }])
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs)
  })
})

describe('a delivery that waits from now on', () => {
  test('is known where the lane was empty', () => {
    const times = informed()
    times.add('crm', 'first', startMs + 7)
    expect(times.dueAtMs('crm', 'first')).toBe(startMs + 7)
    expect(times.ask()).toEqual([])
  })

  test('counts where it is due before the others', () => {
    const times = informed()
    times.add('crm', 'retry', startMs + 7)
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs)
    times.add('crm', 'retry', startMs - 7)
    expect(times.dueAtMs('crm', 'retry')).toBe(startMs - 7)
  })

  test('tells nothing of a lane that is not known', () => {
    const times = new WaitingTimes(['crm'])
    times.add('crm', 'first', startMs)
    expect(times.dueAtMs('crm', 'first')).toBeUndefined()
    expect(times.ask()).toEqual(['crm'])
  })
})

describe('the destinations that something waits for', () => {
  /** Nothing waits for the first, a retry for the second; nothing is known of the third. */
  function some(): WaitingTimes {
    const times = new WaitingTimes(['idle', 'crm', 'mail'])
    times.learn(times.ask(), [dueSoon])
    times.forget('mail', 'first')
    return times
  }

  test('are those of which a time is known', () => {
    expect([...some().waitedFor]).toEqual(['crm'])
  })

  test('are more once more is known', () => {
    const times = some()
    times.add('idle', 'first', startMs)
    times.learn(times.ask(), [{ destinationId: 'mail', lane: 'first', dueAtMs: startMs }])
    times.watch(['idle', 'crm', 'mail', 'other'])
    expect([...times.waitedFor].toSorted()).toEqual(['crm', 'idle', 'mail'])
  })

  test.each([
    { what: 'forget', change: (times: WaitingTimes) => times.forget('crm', 'retry') },
    { what: 'forgetAll', change: (times: WaitingTimes) => times.forgetAll() },
    { what: 'watch', change: (times: WaitingTimes) => times.watch(['idle', 'mail']) },
  ])('are none after $what', ({ change }) => {
    const times = some()
    change(times)
    expect([...times.waitedFor]).toEqual([])
  })

  test('are still those with another lane that is known', () => {
    const times = some()
    times.add('crm', 'first', startMs)
    times.forget('crm', 'retry')
    expect([...times.waitedFor]).toEqual(['crm'])
  })
})

test('destinations that are not its own are nothing to it', () => {
  const times = informed()
  times.add('mail', 'first', startMs)
  times.forget('mail', 'first')
  times.learn(['mail'], [{ ...dueSoon, destinationId: 'mail' }])
  expect(times.dueAtMs('mail', 'retry')).toBeUndefined()
  expect(times.isEmpty('mail', 'first')).toBe(false)
  expect(times.ask()).toEqual([])
})
