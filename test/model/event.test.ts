import { expect, test } from 'vitest'
import { callTypes, eventTypes, isCallType, isEventType } from '../../src/model/index.ts'

test('deliverable events are the six calls and delete', () => {
  expect(callTypes).toEqual(['identify', 'track', 'page', 'screen', 'group', 'alias'])
  expect(eventTypes).toEqual([...callTypes, 'delete'])
  expect(Object.isFrozen(callTypes) && Object.isFrozen(eventTypes)).toBe(true)
})

test('a deletion is an event, but not a call', () => {
  expect(isEventType('delete')).toBe(true)
  expect(isCallType('delete')).toBe(false)
})

test('isEventType and isCallType refuse any other value', () => {
  expect(eventTypes.every(isEventType) && callTypes.every(isCallType)).toBe(true)
  for (const value of ['Track', 'toString', '', 0, null, undefined, ['track']]) {
    expect([isEventType(value), isCallType(value)]).toEqual([false, false])
  }
})
