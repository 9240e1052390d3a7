import { describe, expect, test } from 'vitest'
import { checkUrl, checkWholeNumber, SettingError } from '../../src/model/index.ts'

describe('checkWholeNumber', () => {
  test.each([0, 1, 9, 10])('accepts %d', (value) => {
    expect(checkWholeNumber('queueMax', value, [0, 10])).toBe(value)
  })

  test.each([-1, 11, 1.5, NaN, Infinity, '5', null, undefined, true])('refuses %j', (value) => {
    const check = (): number => checkWholeNumber('queueMax', value, [0, 10])
    expect(check).toThrow(SettingError)
    expect(check).toThrow(
      `Cannot use queueMax ${value === '5' ? '"5"' : value}: it must be a whole number from 0 to 10`,
    )
  })
})

function refusal(text: unknown): SettingError {
  try {
    checkUrl('endpoint', text)
  } catch (error) {
    if (error instanceof SettingError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

describe('checkUrl', () => {
  test.each([
    ['https://example.com/hook?region=eu', 'https://example.com/hook?region=eu'],
    ['HTTP://Example.com', 'http://example.com/'],
    ['https://example.com/hook#part', 'https://example.com/hook'],
  ])('accepts %s', (text, href) => {
    expect(checkUrl('endpoint', text)).toBe(href)
  })

  test.each(['', 'localhost:4000', 'ftp://example.com/', '/v1/batch', 4, undefined])(
    'refuses %j, which is not an absolute URL',
    (text) => {
      expect(refusal(text)).toMatchObject({
        setting: 'endpoint',
        message: `Cannot send to "${String(text)}": it is not a full http or https URL`,
      })
    },
  )

  test.each(['https://user:fake-password@example.com/', 'http://user@example.com/'])(
    'refuses credentials, without repeating them: %s',
    (text) => {
      const { setting, message } = refusal(text)
      expect(setting).toBe('endpoint')
      expect(message).toBe('Cannot send to example.com: its URL contains a user name or password')
    },
  )
})
