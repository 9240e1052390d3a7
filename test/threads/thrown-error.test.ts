import { describe, expect, test } from 'vitest'
import { EvrouteError, StoreUnusableError } from '../../src/model/index.ts'
import { errorOf, thrownError } from '../../src/threads/thrown-error.ts'

/** Returns a thrown value as a different thread receives it. */
function sent(error: unknown): Error {
  return errorOf(structuredClone(thrownError(error)))
}

describe('an error that is sent to another thread', () => {
  test('keeps its class and fields if it is an EvrouteError', () => {
    const details = { code: 'store_in_use', message: 'Cannot', hint: 'Wait.' } as const
    const error = sent(new EvrouteError({ ...details, cause: new Error('locked') }))
    expect(error).toBeInstanceOf(EvrouteError)
    expect(error).not.toBeInstanceOf(StoreUnusableError)
    expect(error).toMatchObject({ ...details, name: 'EvrouteError' })
    expect(error.cause).toEqual(new Error('locked'))
  })

  test.each([true, false])('keeps whether it is temporary: %s', (isTemporary) => {
    const error = sent(new StoreUnusableError({ message: 'Cannot', isTemporary }))
    expect(error).toBeInstanceOf(StoreUnusableError)
    expect(error).toMatchObject({ code: 'store_unusable', isTemporary, hint: undefined })
    expect('cause' in error).toBe(false)
  })

  test('keeps its system code and its stack', () => {
    const before = Object.assign(new TypeError('no entry'), { code: 'ENOENT' })
    const error = sent(before)
    expect(error).toMatchObject({ message: 'no entry', code: 'ENOENT', stack: before.stack })
  })

  test.each([
    ['a text', 'a text'],
    [null, 'null'],
    [undefined, 'undefined'],
  ])('can be any value: %s', (thrown, message) => {
    expect(sent(thrown)).toEqual(new Error(message))
  })
})
