import { describe, expect, test } from 'vitest'
import { EvrouteError, messageOf, SettingError, systemCode } from '../../src/model/index.ts'

describe('EvrouteError', () => {
  test('carries its code, message, hint and cause', () => {
    const cause = new Error('in use')
    const error = new EvrouteError({
      code: 'port_in_use',
      message: 'Cannot listen',
      hint: 'Pass --port 0 for a free one.',
      cause,
    })
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe('EvrouteError')
    expect(error).toMatchObject({
      code: 'port_in_use',
      message: 'Cannot listen',
      hint: 'Pass --port 0 for a free one.',
    })
    expect(error.cause).toBe(cause)
  })

  test('has no hint and no cause unless they are given', () => {
    const error = new EvrouteError({ code: 'store_closed', message: 'Closed' })
    expect(error.hint).toBeUndefined()
    expect(Object.hasOwn(error, 'cause')).toBe(false)
  })

  test('keeps a cause of undefined, which can be thrown too', () => {
    const error = new EvrouteError({ code: 'store_closed', message: 'Closed', cause: undefined })
    expect(Object.hasOwn(error, 'cause')).toBe(true)
  })
})

test('SettingError is an EvrouteError that names the setting', () => {
  const error = new SettingError('flushAt', 'flushAt must be a number', 'Leave it out for 20.')
  expect(error).toBeInstanceOf(EvrouteError)
  expect(error).toMatchObject({
    name: 'SettingError',
    code: 'invalid_setting',
    setting: 'flushAt',
    message: 'flushAt must be a number',
    hint: 'Leave it out for 20.',
  })
  expect(new SettingError('flushAt', 'flushAt must be a number').hint).toBeUndefined()
})

test('systemCode reads the code of a system error, and returns undefined for anything else', () => {
  expect(systemCode(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))).toBe(
    'ECONNREFUSED',
  )
  for (const thrown of [new Error('plain'), { code: 7 }, 'text', null, undefined]) {
    expect(systemCode(thrown)).toBeUndefined()
  }
})

test('messageOf returns a message for any thrown value', () => {
  expect(messageOf(new Error('refused'))).toBe('refused')
  expect(messageOf('text')).toBe('text')
  expect(messageOf(undefined)).toBe('undefined')
  expect(messageOf(Object.create(null))).toBe('unknown error')
  expect(messageOf(Object.assign(new Error(), { message: 7 }))).toBe('7')
})
