import { describe, expect, test } from 'vitest'
import type { Row } from '../../../src/importer/index.ts'
import type { JsonObject } from '../../../src/model/index.ts'
import { identifyRow } from '../../../src/cli/sending/row-selection.ts'

const track: JsonObject = { type: 'track', userId: 'u_1', event: 'Order Completed' }

function row(value: JsonObject = track): Row {
  return { kind: 'row', line: 1, value, bytes: 60 }
}

function idOf(value: JsonObject, position: { file?: string; index?: number } = {}): unknown {
  const identified = identifyRow(row(value), { file: '/data/a.ndjson', index: 0, ...position })
  return identified.kind === 'row' ? identified.value['messageId'] : undefined
}

describe('identifyRow', () => {
  test('gives a row the same id every time', () => {
    expect(idOf(track)).toMatch(/^row-[0-9a-f]{32}$/)
    expect(idOf({ ...track })).toBe(idOf(track))
  })

  test.each([
    ['file', idOf(track, { file: '/data/b.ndjson' })],
    ['position', idOf(track, { index: 1 })],
    ['content', idOf({ ...track, userId: 'u_2' })],
  ])('gives a different id to a row with a different %s', (_, id) => {
    expect(id).not.toBe(idOf(track))
  })

  test.each([null, ''])('treats the messageId %j as missing', (messageId) => {
    expect(idOf({ ...track, messageId })).toMatch(/^row-/)
  })

  test.each(['m_1', 7, ['m_1']])('leaves the messageId %j as it is', (messageId) => {
    expect(idOf({ ...track, messageId })).toEqual(messageId)
  })

  test('does not change a row that cannot be used', () => {
    const bad: Row = { kind: 'bad', line: 1, code: 'invalid_json', message: 'broken' }
    expect(identifyRow(bad, { file: '-', index: 0 })).toBe(bad)
  })
})
