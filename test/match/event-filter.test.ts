import { describe, expect, test } from 'vitest'
import { EventFilter, MatchError } from '../../src/match/index.ts'
import { group, order } from './subjects.ts'

function errorOf(text: string): MatchError {
  try {
    new EventFilter(text)
  } catch (error) {
    if (error instanceof MatchError) return error
    throw error
  }
  throw new Error(`${text} was accepted`)
}

describe('a filter of events', () => {
  test.each([
    ['type:track event:"Order*" properties.revenue:>10', true],
    ['type:track properties.revenue:>100', false],
    ['-type:identify', true],
    ['has:properties.coupon body.messageId:m-1', true],
    ['"timestamp":2026*', true],
    ['order', true],
    ['*', true],
    ['group:g_1', false],
  ])('selects by %s: %s', (text, isTaken) => {
    const filter = new EventFilter(text)
    expect(filter.takes(order)).toBe(isTaken)
    expect(filter.whyNot(order) === '').toBe(isTaken)
  })

  test('names every term that an event does not meet', () => {
    const filter = new EventFilter('type:track,page -user:42 has:context.ip traits.plan:p*')
    expect(filter.whyNot(group)).toBe(
      'type is group, the filter wants track or page; user is "42", the filter wants not "42"; ' +
        'context.ip is absent, the filter wants present',
    )
  })

  test.each([
    ['type:track status:5xx', [11, 10], 'an event has no status'],
    ['-sig:valid', [0, 10], 'an event has no sig'],
    ['path:/hook', [0, 10], 'an event has no path'],
    ['bytes:>2kb', [0, 10], 'an event has no bytes'],
    ['body.version:1', [0, 14], 'an event has no version'],
    ['"Previous ID":anon_9', [0, 20], 'an event has no Previous ID'],
    ['has:body', [0, 8], 'an event has no body'],
  ])('refuses %s, because no event has that field', (text, range, problem) => {
    const error = errorOf(text)
    expect([error.offset, error.length]).toEqual(range)
    expect(error.message).toContain(problem)
    expect(error.hint).toMatch(/^(Use type, event, user,|Write body\.<key> with one of)/)
    expect(error.hint).toContain(`\n${error.excerpt}`)
  })

  test('refuses invalid match expressions', () => {
    expect(errorOf('').message).toContain('there is nothing to match')
    expect(errorOf('type:track x3').message).toContain(
      'only an expectation can have a count or a time',
    )
    expect(errorOf('typ:track').hint).toContain('Did you mean type?')
  })

  test('equals a filter with the same match', () => {
    expect(new EventFilter(' type:track ')).toEqual(new EventFilter('type:track'))
    expect(new EventFilter('type:track')).not.toEqual(new EventFilter('type:page'))
  })
})
