import { describe, expect, test } from 'vitest'
import { SettingError } from '../../../src/model/index.ts'
import { parsePlan } from '../../../src/receiver/faults/parse-plan.ts'

describe('a plan is read', () => {
  test.each([
    ['200', { steps: [{ answer: 200, times: 1 }] }],
    [
      '503x3,200',
      {
        steps: [
          { answer: 503, times: 3 },
          { answer: 200, times: 1 },
        ],
      },
    ],
    [
      ' resetx2 , hang ',
      {
        steps: [
          { answer: 'reset', times: 2 },
          { answer: 'hang', times: 1 },
        ],
      },
    ],
    ['type=track:500', { type: 'track', steps: [{ answer: 500, times: 1 }] }],
    ['endpoint=2:empty', { endpoint: 2, steps: [{ answer: 'empty', times: 1 }] }],
    [
      'endpoint=2: type=page:200x1000000',
      { endpoint: 2, type: 'page', steps: [{ answer: 200, times: 1_000_000 }] },
    ],
  ])('%j', (text, plan) => {
    expect(parsePlan(text)).toEqual(plan)
  })
})

describe('a plan that cannot be read says where and what is accepted', () => {
  test.each([
    ['', 1, 'an answer is missing', '  \n  ^'],
    ['503,,200', 5, 'an answer is missing', '  503,,200\n      ^'],
    ['503x3,20O', 7, 'this is no answer', '  503x3,20O\n        ^^^'],
    ['199', 1, 'this is no answer', '  199\n  ^^^'],
    ['600', 1, 'this is no answer', '  600\n  ^^^'],
    ['503x', 1, 'this is no answer', '  503x\n  ^^^^'],
    ['explodex2', 1, 'this is no answer', '  explodex2\n  ^^^^^^^'],
    ['200, 503x0', 9, 'an answer cannot be given so many times', '  200, 503x0\n          ^^'],
    ['503x1000001', 4, 'an answer cannot be given so many times', '     ^^^^^^^^'],
    ['type=order:500', 6, 'this is no type of webhooks', '  type=order:500\n       ^^^^^'],
    ['endpoint=0:500', 10, 'this is no endpoint', '  endpoint=0:500\n           ^'],
    ['kind=track:500', 1, 'this does not say whom the plan is for', '  ^^^^^^^^^^'],
    ['type=track:type=page:500', 12, 'this is the second type', '             ^^^^^^^^^'],
    ['503,\u001b[2J', 5, 'this is no answer', '  503,\ufffd[2J\n      ^^^^'],
  ])('%j', (text, character, problem, excerpt) => {
    let thrown: unknown
    try {
      parsePlan(text)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(SettingError)
    const { setting, message, hint } = thrown as SettingError
    expect(setting).toBe('respond')
    expect(message).toBe(`Cannot read the plan at character ${character}: ${problem}`)
    expect(hint).toContain(excerpt)
  })

  test('names the answers there are', () => {
    expect(() => parsePlan('teapot')).toThrow(
      expect.objectContaining({
        hint: expect.stringContaining(
          'An answer is a status from 200 to 599, or reset, hang, empty, truncate, malformed, drip or endless; x3 behind it gives it three times.',
        ) as string,
      }),
    )
  })

  test('is short', () => {
    expect(() => parsePlan('200,'.repeat(3_000))).toThrow('over 10000 characters')
  })
})
