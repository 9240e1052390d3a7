import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const only = ['--only', 'type:track properties.revenue:>10', '--json']
const track = { type: 'track', userId: 'u_1', event: 'E' }
const stdin = [
  { ...track, messageId: 'm_1', properties: { revenue: 5 } },
  { ...track, messageId: 'm_2', properties: { revenue: 39.95 } },
  { ...track, messageId: 'm_3', properties: { revenue: 39.95 }, integrations: { All: false } },
  { type: 'page', userId: 'u_1' },
  { type: 'identify' },
  { type: 'delete', userId: 'u_1' },
]
  .map((row) => JSON.stringify(row))
  .join('\n')

const counts = { read: 6, accepted: 5, rejected: 1, routed: 1, filtered: 4, duplicate: 0 }

test.each([
  ['send', '-f', '-'],
  ['replay', '-'],
])('%s sends only the rows that match, and counts the others as filtered', async (...argv) => {
  const endpoint = await TestEndpoint.start()
  const { code, records } = await run([...argv, ...only, '--to', endpoint.url], { stdin })
  expect(code).toBe(3)
  expect(records.at(-1)).toMatchObject({ ...counts, deliveries: 1, delivered: 1 })
  expect(endpoint.bodies).toMatchObject([{ messageId: 'm_2' }])
  const dry = await run([...argv, ...only, '--to', endpoint.url, '--dry-run'], { stdin })
  expect(dry.records.at(-1)).toMatchObject(counts)
  expect(dry.records.filter(({ messageId }) => messageId === 'm_1')).toMatchObject([
    {
      kind: 'plan',
      send: false,
      reason: 'filter_not_matched',
      hint: 'properties.revenue is 5, the filter wants >10',
      body: null,
    },
  ])
})

test('rows that were left out are sent by a later run to the same store', async () => {
  const endpoint = await TestEndpoint.start()
  const store = `sqlite:${join(await temporaryFolder(), 'sending.db')}`
  const to = ['--to', endpoint.url, '--store', store]
  await run(['send', '-f', '-', ...only, ...to], { stdin })
  const { records } = await run(['send', '-f', '-', '--json', '--only', 'type:page', ...to], {
    stdin,
  })
  expect(records.at(-1)).toMatchObject({ routed: 1, duplicate: 0, delivered: 1 })
  expect(endpoint.bodies).toMatchObject([{ messageId: 'm_2' }, { type: 'page' }])
})

test('a service gets only the rows that match', async () => {
  const service = await TestEndpoint.start()
  const to = ['--endpoint', service.url, '--write-key', 'wk_example']
  const { records } = await run(['send', '-f', '-', ...only, ...to], { stdin })
  expect(records.at(-1)).toMatchObject({ ...counts, routed: 2, filtered: 3, acknowledged: 2 })
  expect(service.bodies).toMatchObject([{ batch: [{ messageId: 'm_2' }, { messageId: 'm_3' }] }])
})

test('rows of a capture match by the bodies of their webhooks', async () => {
  const endpoint = await TestEndpoint.start()
  const file = join(await temporaryFolder(), 'capture.ndjson')
  const captured = [5, 39.95].map((revenue, index) => {
    const body = { ...track, messageId: `m_${index}`, properties: { revenue } }
    const rawBase64 = Buffer.from(JSON.stringify(body)).toString('base64')
    return JSON.stringify({ v: 1, kind: 'event', type: 'track', headers: {}, body, rawBase64 })
  })
  await writeFile(file, captured.join('\n'))
  const argv = ['replay', file, ...only, '--to', endpoint.url]
  const { records } = await run(argv)
  expect(records.at(-1)).toMatchObject({ accepted: 2, routed: 1, filtered: 1, delivered: 1 })
  expect(endpoint.bodies).toMatchObject([{ messageId: 'm_1' }])
  const dry = await run([...argv, '--dry-run'])
  expect(dry.records.at(-1)).toMatchObject({ accepted: 2, routed: 1, filtered: 1 })
})

test('send says why its only call was left out', async () => {
  const { code, stderr } = await run(['send', 'track', '--event', 'E', '--only', 'type:page'])
  expect(code).toBe(0)
  expect(stderr).toContain('track "E" was filtered out: type is track, the filter wants page')
})

test('the error of an invalid match points at the mistake', async () => {
  const { code, stderr } = await run(['send', 'track', '--only', 'sig:valid'])
  expect(code).toBe(2)
  expect(stderr).toContain('an event has no sig')
  expect(stderr).toContain('^^^^^^^^^')
})
