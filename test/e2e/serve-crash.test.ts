import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runBinary, startBinary, type TestProcess } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const calls = 400
const writeKey = 'wk_example'

/** Prepares calls, and the configuration of a service that delivers them. */
async function prepare(endpoint: TestEndpoint) {
  const folder = await temporaryFolder()
  const rows = Array.from({ length: calls }, (_, index) => ({
    type: 'track',
    userId: `u_${index}`,
    event: 'Order Completed',
    messageId: `m_${index}`,
  }))
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`)
  const path = join(folder, 'evroute.config.json')
  const configure = (port: number) =>
    writeFile(
      path,
      JSON.stringify({
        listen: { port },
        store: 'sqlite:./evroute.db',
        network: { allow: ['127.0.0.0/8'] },
        sources: [{ id: 'website', writeKeys: [writeKey] }],
        destinations: [
          {
            id: 'crm',
            type: 'Webhooks',
            sources: ['website'],
            endpoints: [{ url: endpoint.url }],
          },
        ],
      }),
    )
  return { lines, path, configure, store: `sqlite:${join(folder, 'evroute.db')}` }
}

async function serving(path: string): Promise<{ service: TestProcess; port: number }> {
  const service = startBinary(['serve', '--config', path, '--json'])
  const { port } = await service.stdout.record('ready')
  return { service, port: Number(port) }
}

function arrivedAt({ bodies }: TestEndpoint): ReadonlySet<string> {
  return new Set(bodies.map((body) => (body as { messageId: string }).messageId))
}

test('a service that is killed twice under load delivers every call that it acknowledged', async () => {
  const endpoint = await TestEndpoint.start()
  const { lines, path, configure, store } = await prepare(endpoint)
  // A restarted service must listen on the port that the sender knows.
  const port = await freePort()
  await configure(port)
  let { service } = await serving(path)
  const to = ['--endpoint', `http://127.0.0.1:${port}/v1/batch`, '--write-key', writeKey]
  const sender = startBinary(['send', '--file', '-', '--flush-at', '2', '--json', ...to])
  const third = Math.ceil(calls / 3)
  for (const start of [0, third]) {
    sender.stdin.write(lines.slice(start, start + third).join(''))
    // Some calls of this part have arrived, and others are in flight.
    await endpoint.received(start + third / 3)
    service.signal('SIGKILL')
    expect(await service.ended).toMatchObject({ signal: 'SIGKILL' })
    ;({ service } = await serving(path))
  }
  sender.stdin.end(lines.slice(2 * third).join(''))

  const sent = await sender.ended
  expect(sent.code, sent.stderr).toBe(0)
  expect(sent.records.at(-1)).toMatchObject({ kind: 'summary', read: calls, acknowledged: calls })
  await expect.poll(() => arrivedAt(endpoint).size).toBe(calls)
  service.signal('SIGTERM')
  expect(await service.ended).toMatchObject({ code: 0 })
  const audit = await runBinary(['audit', '--store', store, '--json'])
  expect(audit.code).toBe(0)
  // Calls that were stored but not answered before a kill were sent again, and are duplicates.
  expect(audit.records).toMatchObject([
    { balanced: true, ledger: { routed: calls, deliveries: calls, delivered: calls, pending: 0 } },
  ])
})

test('a service that is killed while it answers has stored the calls that it acknowledged', async () => {
  const endpoint = await TestEndpoint.start()
  const { path, configure } = await prepare(endpoint)
  await configure(0)
  const answered = new Set<string>()
  for (let round = 0; round < 3; round++) {
    const { service, port } = await serving(path)
    const posts = Array.from({ length: 100 }, async (_, index) => {
      const messageId = `m_${round}_${index}`
      const { status } = await fetch(`http://127.0.0.1:${port}/v1/track`, {
        method: 'POST',
        headers: { 'x-write-key': writeKey },
        body: JSON.stringify({ userId: 'u_1', event: 'Order Completed', messageId }),
      })
      if (status !== 200) return
      answered.add(messageId)
      service.signal('SIGKILL')
    })
    await Promise.allSettled(posts)
    await service.ended
  }
  expect(answered.size).toBeGreaterThanOrEqual(3)

  await serving(path)
  const missing = () => [...answered].filter((messageId) => !arrivedAt(endpoint).has(messageId))
  await expect.poll(missing).toEqual([])
})

test('a sender reports the calls that a killed service did not acknowledge', async () => {
  const endpoint = await TestEndpoint.start()
  const { lines, path, configure } = await prepare(endpoint)
  const port = await freePort()
  await configure(port)
  const { service } = await serving(path)
  const to = ['--endpoint', `http://127.0.0.1:${port}/v1/batch`, '--write-key', writeKey]
  const argv = ['send', '--file', '-', '--flush-at', '2', '--json', ...to]
  const sender = startBinary(argv, { DEBUG: 'analytics' })
  sender.stdin.write(lines.slice(0, calls / 2).join(''))
  await endpoint.received(calls / 8)
  service.signal('SIGKILL')
  await service.ended
  sender.stdin.write(lines.slice(calls / 2).join(''))
  await sender.stderr.matching(/retrying a batch/)
  sender.signal('SIGINT')
  const sent = await sender.ended
  expect(sent.code).toBe(130)
  const summary = sent.records.at(-1) as { acknowledged: number; pending: number }
  expect(summary).toMatchObject({ kind: 'summary' })
  expect(summary.pending).toBeGreaterThan(0)

  await serving(path)
  await expect.poll(() => arrivedAt(endpoint).size).toBeGreaterThanOrEqual(summary.acknowledged)
})

test('services do not share an archive, and a killed one leaves its archive to the next', async () => {
  const folder = await temporaryFolder()
  const directory = join(folder, 'archive')
  const configure = async (name: string) => {
    const path = join(folder, `${name}.json`)
    const sources = [{ id: 'website', writeKeys: [writeKey], archive: { directory } }]
    const store = `sqlite:./${name}.db`
    await writeFile(path, JSON.stringify({ listen: { port: 0 }, store, sources, destinations: [] }))
    return path
  }
  const [one, other] = await Promise.all([configure('one'), configure('other')])
  const { service } = await serving(one)
  const refused = await runBinary(['serve', '--config', other])
  expect(refused).toMatchObject({ code: 7, stdout: '' })
  const inUse = `Cannot write the archive ${directory}: another process is using it`
  expect(refused.stderr).toContain(inUse)
  service.signal('SIGKILL')
  await service.ended
  const { service: next } = await serving(other)
  next.signal('SIGTERM')
  expect(await next.ended).toMatchObject({ code: 0 })
})
