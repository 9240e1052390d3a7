import { expect, test } from 'vitest'
import { refusalOf } from './refusal-of.ts'

const moments = 'a timestamp such as 2026-11-20T10:15:00Z, or a duration before now, such as 2h'
const conditions = 'id, state, type, user, destination, message, since, until'
const types = 'identify, track, page, screen, group, alias, delete'

test.each([
  [
    { state: 'leased' },
    'state: Cannot use "leased": it must be one of pending, delivered, failed, expired',
  ],
  [{ user: ['a', 'b'] }, 'user: Cannot use a list: it must be a single string'],
  [{ limit: '0' }, 'limit: Cannot use "0": it must be a whole number from 1 to 500'],
  [{ limit: '501' }, 'limit: Cannot use "501": it must be a whole number from 1 to 500'],
  [{ limit: '5e1' }, 'limit: Cannot use "5e1": it must be a whole number from 1 to 500'],
  [{ before: 'crm' }, 'before: Cannot use "crm": it must be the "next" of a page'],
  [{ since: 'yesterday' }, `since: Cannot use "yesterday": it must be ${moments}`],
  [
    { stat: 'failed' },
    `stat: Cannot use this name: it must be one of ${conditions}, limit, before, reveal`,
  ],
])('a list filtered by %j is refused: %s', (query, message) => {
  expect(refusalOf('get /deliveries', query)).toEqual(message)
})

test.each<[unknown, string]>([
  [
    { state: 'delivered' },
    'state: Cannot use "delivered": it must be one of pending, failed, expired',
  ],
  [{ state: ['failed', 5] }, 'state: Cannot use 5: it must be one of pending, failed, expired'],
  [{ type: 'Track' }, `type: Cannot use "Track": it must be one of ${types}`],
  [{ type: [] }, 'type: Cannot use an empty list: it must be one value, or a list of at least one'],
  [{ id: 'crm' }, 'id: Cannot use "crm": it must be a destination and a number, such as crm/17'],
  [{ id: 17 }, 'id: Cannot use 17: it must be a destination and a number, such as crm/17'],
  [{ all: false }, 'all: Cannot use false: it must be true, or left out'],
  [{ all: true, limit: 0 }, 'limit: Cannot use 0: it must be a whole number, 1 or more'],
  [{ until: {} }, `until: Cannot use an object: it must be ${moments}`],
  [[], 'the body: Cannot use an empty list: it must be an object, such as {"type":"track"}'],
  [
    { user: 5, 'lim\u001b[2J': 1, stat: 1 },
    'user: Cannot use 5: it must be a single string; ' +
      `lim: Cannot use this name: it must be one of ${conditions}, all, limit, after; ` +
      `stat: Cannot use this name: it must be one of ${conditions}, all, limit, after`,
  ],
])('a retry of %j is refused: %s', (body, message) => {
  expect(refusalOf('post /deliveries/retry', body)).toEqual(message)
})

test('an invalid replay request lists the valid conditions', () => {
  expect(refusalOf('post /replay', { types: ['track'] })).toEqual(
    'types: Cannot use this name: it must be one of source, destination, type, event, since, until, all',
  )
})
