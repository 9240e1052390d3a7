import { expect, test } from 'vitest'
import type { AnswerRecord } from '../../src/admin-api/index.ts'
import { formatTimestamp } from '../../src/model/index.ts'
import { nowMs } from '../cli/deliveries/stores.ts'
import { sendRequest, startAdmin } from './support.ts'

const website = {
  id: 'website',
  enabled: true,
  writeKeys: ['wk_example'],
  destinations: ['crm'],
  archived: false,
}
const sources = () => ({ url: 'http://127.0.0.1:4000', sources: [website] })

test("GET /v1/sources reports the outcomes of each source's calls", async () => {
  const { url, metrics } = await startAdmin({ options: { sources } })
  metrics.calls({ sourceId: 'website', outcome: 'routed', count: 3 })
  metrics.calls({ sourceId: 'website', outcome: 'duplicate', count: 1 })
  metrics.calls({ sourceId: 'website', outcome: 'no_event', count: 2 })
  metrics.calls({ sourceId: 'removed', outcome: 'routed', count: 1 })
  const rejected = { messageId: 'm_1', code: 'no_event', message: 'event is missing' } as const
  metrics.rejected('website', [rejected])
  const { status, body } = await sendRequest(`${url}/v1/sources`)
  expect(status).toBe(200)
  expect(body).toEqual({
    v: 1,
    kind: 'sources',
    url: 'http://127.0.0.1:4000',
    sources: [
      {
        id: 'website',
        enabled: true,
        writeKeys: ['wk_example'],
        destinations: ['crm'],
        archived: false,
        accepted: { routed: 3, filtered: 0, duplicate: 1, suppressed: 0 },
        rejected: { no_event: 2 },
        latestRejected: [{ at: formatTimestamp(nowMs), ...rejected }],
      },
    ],
  })
})

test('the last 20 rejected calls of a source are kept, shortened', async () => {
  const { url, metrics } = await startAdmin({ options: { sources } })
  const calls = Array.from({ length: 1_000 }, (_, index) => ({
    messageId: `${index} ${'x'.repeat(100_000)}`,
    code: 'unknown_type' as const,
    message: 'y'.repeat(100_000),
  }))
  metrics.rejected('website', calls)
  const { body, text } = await sendRequest(`${url}/v1/sources`)
  const [source] = (body as AnswerRecord<'sources'>).sources
  expect(source?.latestRejected).toHaveLength(20)
  expect(source?.latestRejected[0]?.messageId).toMatch(/^999 x/)
  expect(text.length).toBeLessThan(20_000)
})
