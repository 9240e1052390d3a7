import { describe, expect, test } from 'vitest'
import { exitCodeOf, exitCodes, gravest, type ExitCode } from '../../src/cli/exit-code.ts'
import { EvrouteError, SettingError } from '../../src/model/index.ts'

describe('gravest', () => {
  test('follows the order 1, 2, 7, 130, 4, 6, 5, 3, 0', () => {
    const order: ExitCode[] = [1, 2, 7, 130, 4, 6, 5, 3, 0]
    for (const [index, code] of order.entries()) {
      expect(gravest(order.slice(index).reverse())).toBe(code)
    }
  })

  test.each([
    [42, 5],
    [42, 0],
    [7, 42],
    [6, 42],
  ])('is %i rather than %i: the code of a command ranks below 6 and above 5', (first, second) => {
    expect(gravest([second, first])).toBe(first)
  })

  test('is 0 without codes', () => {
    expect(gravest([])).toBe(exitCodes.ok)
  })
})

describe('exitCodeOf', () => {
  test('distinguishes settings, ports, files and expectations from bugs in evroute', () => {
    const coded = (code: EvrouteError['code']) =>
      exitCodeOf(new EvrouteError({ code, message: '' }))
    expect(exitCodeOf(new SettingError('flushAt', ''))).toBe(2)
    expect(coded('invalid_usage')).toBe(2)
    expect(
      ['port_in_use', 'cannot_listen', 'cannot_read_file', 'cannot_write_file'].map((code) =>
        coded(code as EvrouteError['code']),
      ),
    ).toEqual([7, 7, 7, 7])
    expect(coded('expectation_unmet')).toBe(5)
    expect(coded('store_closed')).toBe(1)
    expect(exitCodeOf(new Error('unexpected'))).toBe(1)
    expect(exitCodeOf('thrown text')).toBe(1)
  })
})
