import { describe, expect, test } from 'vitest'
import { EvrouteError, StoreUnusableError } from '../../../src/model/index.ts'
import { errorOf, thrownError } from '../../../src/store/threaded/thrown-error.ts'

/** A thrown value, as another thread gets it. */
function sent(error: unknown): Error {
  return errorOf(structuredClone(thrownError(error)))
}

describe('an error that goes to another thread', () => {
  test('is what it was when it was thrown on purpose', () => {
    const details = { code: 'store_in_use', message: 'Cannot', hint: 'Wait.' } as const
    const error = sent(new EvrouteError({ ...details, cause: new Error('locked') }))
    expect(error).toBeInstanceOf(EvrouteError)
    expect(error).not.toBeInstanceOf(StoreUnusableError)
    expect(error).toMatchObject({ ...details, name: 'EvrouteError' })
    expect(error.cause).toEqual(new Error('locked'))
  })

  test.each([true, false])('says as before whether it is temporary: %s', (isTemporary) => {
    const error = sent(new StoreUnusableError({ message: 'Cannot', isTemporary }))
    expect(error).toBeInstanceOf(StoreUnusableError)
    expect(error).toMatchObject({ code: 'store_unusable', isTemporary, hint: undefined })
    expect('cause' in error).toBe(false)
  })

  test('keeps the code of the system, and the stack', () => {
    const before = Object.assign(new TypeError('no entry'), { code: 'ENOENT' })
    const error = sent(before)
    expect(error).toMatchObject({ message: 'no entry', code: 'ENOENT', stack: before.stack })
  })

  test.each([
    ['a text', 'a text'],
    [null, 'null'],
    [undefined, 'undefined'],
  ])('may be anything: %s', (thrown, message) => {
    expect(sent(thrown)).toEqual(new Error(message))
  })
})
