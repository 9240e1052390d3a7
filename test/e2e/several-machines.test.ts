import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../../src/runtime/index.ts'
import { startBinary } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { PostgresDatabases } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

/** How long a breaker stays open: half of the retry window. */
const openMs = 2_000
const writeKey = 'not-a-real-write-key'

/** Starts two services on one database that deliver to one URL, and waits until both have joined. */
async function twoServices(url: string): Promise<readonly string[]> {
  const path = join(await temporaryFolder(), 'evroute.config.json')
  const document = {
    listen: { port: 0 },
    admin: { port: 0, token: 'not-a-real-token' },
    store: await databases.newUrl(),
    network: { allow: ['127.0.0.1'] },
    sources: [{ id: 'website', writeKeys: [writeKey] }],
    destinations: [
      {
        id: 'crm',
        type: 'Webhooks',
        sources: ['website'],
        endpoints: [{ url }],
        retryFor: `${(2 * openMs) / 1_000}s`,
      },
    ],
  }
  await writeFile(path, JSON.stringify(document))
  const urls: string[] = []
  for (let count = 0; count < 2; count++) {
    const { stdout } = startBinary(['serve', '--config', path, '--json'])
    const ready = await stdout.record('ready')
    urls.push(String(ready['url']))
    const isReady = async (): Promise<void> =>
      expect((await fetch(`${String(ready['admin'])}/readyz`)).status).toBe(200)
    await vi.waitFor(isReady, { timeout: 60_000, interval: 100 })
  }
  return urls
}

function post(url: string, count: number): Promise<Response> {
  const batch = Array.from({ length: count }, (_, index) => ({
    type: 'track',
    userId: 'u_1',
    event: 'Order Completed',
    messageId: `m_${index}`,
  }))
  return fetch(`${url}/v1/batch`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}` },
    body: JSON.stringify({ batch }),
  })
}

test('two services together probe a dead endpoint once per interval, and both use it once it answers', async () => {
  const arrivalsMs: number[] = []
  let status = 503
  const endpoint = await TestEndpoint.start(() => {
    arrivalsMs.push(systemClock.nowMs())
    return status
  })
  const [url = ''] = await twoServices(endpoint.url)
  expect((await post(url, 60)).status).toBe(200)
  const gapsMs = (): readonly number[] =>
    arrivalsMs.slice(1).map((atMs, index) => atMs - (arrivalsMs[index] ?? 0))
  // The failures that opened the breakers came in quick succession.
  const rounds = (): readonly number[] => {
    const all = gapsMs()
    return all.slice(all.findIndex((gapMs) => gapMs > openMs / 2))
  }
  await vi.waitFor(() => expect(rounds().length).toBeGreaterThanOrEqual(3), {
    timeout: 60_000,
    interval: 50,
  })
  for (const gapMs of rounds()) expect(gapMs).toBeGreaterThan(openMs / 2)
  const failed = arrivalsMs.length
  status = 200
  await vi.waitFor(() => expect(endpoint.requests.length).toBeGreaterThan(failed + 20), {
    timeout: 60_000,
    interval: 50,
  })
})
