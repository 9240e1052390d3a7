import { describe, expect, test } from 'vitest'
import { SettingError } from '../../../src/model/index.ts'
import { parsePlan } from '../../../src/receiver/faults/read-plans.ts'

describe('parsePlan reads', () => {
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

describe('a plan that cannot be parsed reports where and what is accepted', () => {
  test.each([
    { text: '', character: 1, problem: 'an answer is missing', excerpt: '  \n  ^' },
    {
      text: '503,,200',
      character: 5,
      problem: 'an answer is missing',
      excerpt: '  503,,200\n      ^',
    },
    {
      text: '503x3,20O',
      character: 7,
      problem: 'this is not an answer',
      excerpt: '  503x3,20O\n        ^^^',
    },
    { text: '199', character: 1, problem: 'this is not an answer', excerpt: '  199\n  ^^^' },
    { text: '600', character: 1, problem: 'this is not an answer', excerpt: '  600\n  ^^^' },
    { text: '503x', character: 1, problem: 'this is not an answer', excerpt: '  503x\n  ^^^^' },
    {
      text: 'explodex2',
      character: 1,
      problem: 'this is not an answer',
      excerpt: '  explodex2\n  ^^^^^^^',
    },
    {
      text: '200, 503x0',
      character: 9,
      problem: 'an answer cannot be repeated this many times',
      excerpt: '  200, 503x0\n          ^^',
    },
    {
      text: '503x1000001',
      character: 4,
      problem: 'an answer cannot be repeated this many times',
      excerpt: '     ^^^^^^^^',
    },
    {
      text: 'type=order:500',
      character: 6,
      problem: 'this is not a type of webhook',
      excerpt: '  type=order:500\n       ^^^^^',
    },
    {
      text: 'endpoint=0:500',
      character: 10,
      problem: 'no endpoint has this number',
      excerpt: '  endpoint=0:500\n           ^',
    },
    {
      text: 'kind=track:500',
      character: 1,
      problem: 'this does not say which webhooks the plan is for',
      excerpt: '  ^^^^^^^^^^',
    },
    {
      text: 'type=track:type=page:500',
      character: 12,
      problem: 'this is the second type',
      excerpt: '             ^^^^^^^^^',
    },
    {
      text: '503,\u001b[2J',
      character: 5,
      problem: 'this is not an answer',
      excerpt: '  503,\ufffd[2J\n      ^^^^',
    },
  ])('$text', ({ text, character, problem, excerpt }) => {
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

  test('lists the possible answers', () => {
    expect(() => parsePlan('teapot')).toThrow(
      expect.objectContaining({
        hint: expect.stringContaining(
          'An answer can be a status from 200 to 599, or reset, hang, empty, truncate, malformed, drip or endless. Append x3 to repeat it three times.',
        ) as string,
      }),
    )
  })

  test('is short', () => {
    expect(() => parsePlan('200,'.repeat(3_000))).toThrow('more than 10000 characters')
  })
})
