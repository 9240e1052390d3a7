import { describe, expect, test } from 'vitest'
import { readPathDirectives } from '../../../src/receiver/faults/path-directives.ts'

describe('a path asks for', () => {
  test.each([
    ['/status/503', { answer: 503 }],
    ['/status/503?a=b', { answer: 503 }],
    ['/status/200/hook', { answer: 200 }],
    ['/delay/6s', { delayMs: 6_000 }],
    ['/delay/1h/', { delayMs: 3_600_000 }],
    ['/fault/reset', { answer: 'reset' }],
    ['/delay/1s/status/503', { delayMs: 1_000, answer: 503 }],
    ['/fault/hang/delay/1s/status-page', { delayMs: 1_000, answer: 'hang' }],
    ['/delay/1s/constructor/x', { delayMs: 1_000 }],
    ['/', {}],
    ['/hook/status/503', {}],
    ['/statuses/503', {}],
    ['/?status/503', {}],
  ])('%s', (path, expected) => {
    expect(readPathDirectives(path)).toEqual({
      delayMs: undefined,
      answer: undefined,
      problem: null,
      ...expected,
    })
  })
})

describe('a path with an invalid directive is refused with the reason', () => {
  test.each([
    ['/status', 'The path has nothing after /status: there must be a status from 200 to 599'],
    ['/status/', 'The path has nothing after /status'],
    ['/status/5O3', 'The path has "5O3" after /status'],
    ['/status/reset', 'The path has "reset" after /status'],
    ['/status/100', 'The path has "100" after /status'],
    ['/delay/6', 'The path has "6" after /delay: it must be a duration such as 500ms, 6s'],
    ['/delay/61m', 'at most 1h'],
    ['/fault/503', 'after /fault: it must be one of reset, hang, empty, truncate, malformed'],
    ['/delay/1s/fault/%1b', 'The path has "%1b" after /fault'],
    ['/status/503/fault/reset', 'The path asks for two answers'],
    ['/delay/1s/delay/1s', 'The path asks for two delays'],
  ])('%s', (path, problem) => {
    const directives = readPathDirectives(path)
    expect(directives.problem).toContain(problem)
    expect(directives).toMatchObject({ delayMs: undefined, answer: undefined })
  })
})
