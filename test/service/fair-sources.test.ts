import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TestEndpoint } from '../support/endpoint.ts'
import { gate } from '../support/gate.ts'
import { PostgresDatabases } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { sendRequest, startService } from './running-service.ts'

const noisyEvents = 1_000
const quietEvents = 20

function event(messageId: string): object {
  return { type: 'track', userId: 'u_1', event: 'E', messageId }
}

/** A service with two sources and one destination, whose endpoint answers once the gate is open. */
async function startShared(store: string) {
  const { opened, open } = gate()
  const endpoint = await TestEndpoint.start({ status: 200, after: opened })
  const running = await startService({
    listen: { port: 0 },
    store,
    network: { allow: ['127.0.0.0/8'] },
    sources: [
      { id: 'noisy', writeKeys: ['wk_noisy'] },
      { id: 'quiet', writeKeys: ['wk_quiet'] },
    ],
    destinations: [
      {
        id: 'crm',
        type: 'Webhooks',
        sources: ['noisy', 'quiet'],
        endpoints: [{ url: endpoint.url }],
        concurrency: 2,
      },
    ],
  })
  const send = async (source: string, first: number, count: number): Promise<void> => {
    const batch = Array.from({ length: count }, (_, index) => event(`${source}-${first + index}`))
    const headers = { 'x-write-key': `wk_${source}` }
    const answer = await sendRequest(`${running.service.address.url}/v1/batch`, {
      headers,
      body: { batch },
    })
    expect(answer.status).toBe(200)
  }
  const positions = (source: string): readonly number[] =>
    endpoint.bodies.flatMap((body, position) =>
      (body as { messageId: string }).messageId.startsWith(source) ? [position] : [],
    )
  return { ...running, endpoint, open, send, positions }
}

const databases = new PostgresDatabases()

const stores: Readonly<Record<string, () => Promise<string>>> = {
  memory: () => Promise.resolve('memory:'),
  SQLite: async () => `sqlite:${join(await temporaryFolder(), 'evroute.db')}`,
  PostgreSQL: () => databases.newUrl(),
}

describe('a destination with two sources', () => {
  test.each(Object.entries(stores))(
    'lets events of the quiet source pass the backlog of the noisy one in %s',
    async (_, newStore) => {
      const { endpoint, open, send, positions, settled } = await startShared(await newStore())
      for (let first = 0; first < noisyEvents; first += 100) await send('noisy', first, 100)
      await endpoint.received(2)
      for (let first = 0; first < quietEvents; first++) await send('quiet', first, 1)
      open()
      await expect.poll(() => settled.length, { timeout: 60_000 }).toBe(noisyEvents + quietEvents)
      // They take turns after the deliveries that were already claimed.
      expect(positions('quiet').at(-1)).toBeLessThan(4 * quietEvents)
      expect(positions('quiet')).toHaveLength(quietEvents)
    },
  )

  test('does not make the noisy source wait longer than its turn', async () => {
    const { endpoint, open, send, positions, settled } = await startShared('memory:')
    for (let first = 0; first < noisyEvents; first += 100) await send('noisy', first, 100)
    await endpoint.received(2)
    for (let first = 0; first < noisyEvents; first += 100) await send('quiet', first, 100)
    open()
    await expect.poll(() => settled.length, { timeout: 60_000 }).toBe(2 * noisyEvents)
    const noisyFirst = positions('noisy').filter((position) => position < 400).length
    expect(noisyFirst).toBeGreaterThan(100)
  })
})
