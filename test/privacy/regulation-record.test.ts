import { expect, test } from 'vitest'
import { recordLine } from '../../src/model/index.ts'
import {
  listedRegulationRecord,
  overallStatus,
  regulationRecord,
  streamStatus,
  type NotificationStream,
  type Regulation,
} from '../../src/privacy/index.ts'

const stream = (sourceId: string, destinationId: string): NotificationStream => ({
  sourceId,
  destinationId,
  pending: 1,
  delivered: 2,
  failed: 3,
  expired: 4,
})

const running: Regulation = {
  id: 'reg_1',
  type: 'SUPPRESS_WITH_DELETE',
  userIds: ['u_1', 'u_2'],
  sourceIds: null,
  createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  finishedAtMs: null,
  isStoreErased: false,
  erased: { pending: 1, settled: 2, members: 3 },
  archive: null,
  archivesLeft: ['/archive on web-1'],
  streams: [stream('website', 'crm'), stream('app', 'crm'), stream('website', 'mail')],
}

const finished: Regulation = {
  ...running,
  sourceIds: ['website'],
  finishedAtMs: Date.UTC(2026, 0, 3),
  isStoreErased: true,
  archivesLeft: undefined,
  archive: { events: 4, files: 2, problems: ['website/2026-01-01.ndjson.gz cannot be read'] },
  streams: [],
}

/** Formats a record as a line, without its version and line break. */
const written = (record: Readonly<Record<string, unknown>>): string =>
  recordLine(record)
    .replace(/^\{"v":1,/, '{')
    .trimEnd()

const head =
  '{"kind":"regulation","id":"reg_1","regulationType":"SUPPRESS_WITH_DELETE","subjectType":"USER_ID"'

const destinationJson = (id: string): string =>
  `{"id":"${id}","status":"${streamStatus(stream('website', id))}",` +
  '"pending":1,"delivered":2,"failed":3,"expired":4}'

test('the record of a regulation groups the streams by source', () => {
  expect(written(regulationRecord(running))).toBe(
    `${head},"subjectIds":["u_1","u_2"],"sources":null,"overallStatus":"${overallStatus(running)}",` +
      '"createdAt":"2026-01-02T03:04:05.678Z","finishedAt":null,' +
      '"erased":{"pending":1,"settled":2,"members":3},"archive":null,' +
      '"archivesLeft":["/archive on web-1"],"streamStatus":[' +
      `{"id":"website","destinationStatus":[${destinationJson('crm')},${destinationJson('mail')}]},` +
      `{"id":"app","destinationStatus":[${destinationJson('crm')}]}]}`,
  )
})

test('the record of a regulation reports what was erased from archives', () => {
  expect(written(regulationRecord(finished))).toBe(
    `${head},"subjectIds":["u_1","u_2"],"sources":["website"],` +
      `"overallStatus":"${overallStatus(finished)}","createdAt":"2026-01-02T03:04:05.678Z",` +
      '"finishedAt":"2026-01-03T00:00:00.000Z","erased":{"pending":1,"settled":2,"members":3},' +
      '"archive":{"events":4,"files":2,"problems":["website/2026-01-01.ndjson.gz cannot be read"]},' +
      '"archivesLeft":[],"streamStatus":[]}',
  )
})

test('in a list, the record of a regulation says how many users it affects, but not which', () => {
  const { subjectIds, ...rest } = regulationRecord(running)
  expect(subjectIds).toEqual(['u_1', 'u_2'])
  expect(listedRegulationRecord(running)).toEqual({ ...rest, subjects: 2 })
})
