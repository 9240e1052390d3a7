import { describe, expect, test } from 'vitest'
import {
  audienceRecord,
  changeRecord,
  memberFields,
  progressRecord,
  rejectedRecord,
  removalRecord,
  syncRecord,
} from '../../src/audience/index.ts'
import { recordLine } from '../../src/model/index.ts'
import * as recorded from '../admin-api/recorded-audiences.ts'

const { counts } = recorded

const audience = { ...recorded.audience, createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678) }

const audienceJson =
  '"key":"big_spenders","name":"Big Spenders","class":"audience","computationId":"aud_1",' +
  '"source":"website","members":3,"createdAt":"2026-01-02T03:04:05.678Z","syncedAt":null'

const countsJson =
  '"read":7,"rejected":1,"entered":2,"changed":1,"left":4,"unchanged":2,"suppressed":1'

const identity = { userId: 'u_1', anonymousId: null, email: 'ann@example.com' }
const identityJson = '"userId":"u_1","anonymousId":null,"email":"ann@example.com"'

/** The line of a record, without its version and its end. */
const written = (record: Readonly<Record<string, unknown>>): string =>
  recordLine(record)
    .replace(/^\{"v":1,/, '{')
    .trimEnd()

describe('the record of', () => {
  test('an audience', () => {
    expect(written(audienceRecord(audience))).toBe(`{"kind":"audience",${audienceJson}}`)
    const synced = { ...audience, syncedAtMs: 0 }
    expect(audienceRecord(synced)).toMatchObject({ syncedAt: '1970-01-01T00:00:00.000Z' })
  })

  test('an audience has no other fields', () => {
    const other = { ...audience, secret: 'not-a-real-secret' }
    expect(audienceRecord(other)).toEqual(audienceRecord(audience))
  })

  test.each([
    ['true', 'true'],
    ['"gold"', '"gold"'],
    ['{"tier":[1,null]}', '{"tier":[1,null]}'],
    [null, 'null'],
  ])('a change to %s', (value, json) => {
    expect(written(changeRecord({ identity, value }))).toBe(
      `{"kind":"change",${identityJson},"value":${json}}`,
    )
  })

  test('a member', () => {
    const record = memberFields({ identity, value: '41.5' })
    expect(JSON.stringify(record)).toBe(`{${identityJson},"value":41.5}`)
  })

  test('a rejected row', () => {
    const row = { line: 3, code: 'no_user_id', message: 'The row has no user id' }
    expect(written(rejectedRecord(row))).toBe(
      '{"kind":"rejected","line":3,"code":"no_user_id","message":"The row has no user id"}',
    )
  })

  test('progress', () => {
    expect(written(progressRecord(counts))).toBe(`{"kind":"progress",${countsJson}}`)
  })

  test.each(['synced', 'incomplete', 'ended', 'superseded'] as const)('a sync: %s', (kind) => {
    expect(written(syncRecord({ kind, audience, counts }, { isDryRun: false }))).toBe(
      `{"kind":"sync","outcome":"${kind}","dryRun":false,"audience":{${audienceJson}},${countsJson}}`,
    )
  })

  test.each(['removed', 'ended', 'superseded'] as const)('a removal: %s', (kind) => {
    expect(written(removalRecord({ kind, audience, left: 3 }, { isDryRun: true }))).toBe(
      `{"kind":"removal","outcome":"${kind}","dryRun":true,"audience":{${audienceJson}},"left":3}`,
    )
  })
})
