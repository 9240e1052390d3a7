import { request } from 'undici'
import { createRuntime, silentLog, sleep, stopwatch, systemClock } from '../../src/runtime/index.ts'
import { createService } from '../../src/service/create-service.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { PostgresLine } from '../support/postgres-line.ts'

/** How a service answers clients while its database is silent, and once it is back. */
export interface SilentDatabase {
  /** The number of requests by status; `+` marks answers with `Retry-After`. */
  readonly statuses: Readonly<Record<string, number>>
  /** The longest time that an answer took while the database was silent. */
  readonly slowestMs: number
  /** The status of the first answer after the database is back. */
  readonly statusAfter: number
  /** Connections to the database at the end. */
  readonly connections: number
}

const writeKey = 'wk_example'

/** Requests per second. */
const perSecond = 100

/**
 * Runs a service whose database stops answering without closing a connection, while requests keep arriving
 * for some seconds.
 */
export async function silentDatabase({
  seconds,
  server,
  folder,
}: {
  readonly seconds: number
  readonly server: PostgresServer
  readonly folder: string
}): Promise<SilentDatabase> {
  const line = await PostgresLine.open(server, folder)
  const service = await createService({
    configuration: {
      listen: { port: 0 },
      store: line.through(server.url()),
      sources: [{ id: 'website', writeKeys: [writeKey] }],
    },
    runtime: createRuntime({ clock: systemClock, log: silentLog }),
  })
  let slowestMs = 0
  const post = async (messageId: string): Promise<string> => {
    const elapsedMs = stopwatch()
    const response = await request(`${service.address.url}/v1/track`, {
      method: 'POST',
      headers: { 'x-write-key': writeKey },
      body: JSON.stringify({ userId: 'u_1', event: 'Order Completed', messageId }),
    })
    await response.body.dump()
    slowestMs = Math.max(slowestMs, elapsedMs())
    return `${response.statusCode}${response.headers['retry-after'] === undefined ? '' : '+'}`
  }
  try {
    const before = await post('m_before')
    if (before !== '200') throw new Error(`The service answers ${before}`)
    line.fallSilent()
    line.isMute = true
    const posts: Promise<string>[] = []
    for (let index = 0; index < seconds * perSecond; index++) {
      posts.push(post(`m_${index}`))
      await sleep(systemClock, 1_000 / perSecond)
    }
    const statuses: Record<string, number> = {}
    for (const status of await Promise.all(posts)) statuses[status] = (statuses[status] ?? 0) + 1
    const slowestSilentMs = slowestMs
    line.isMute = false
    const statusAfter = Number.parseInt(await post('m_after'), 10)
    return { statuses, slowestMs: slowestSilentMs, statusAfter, connections: line.open }
  } finally {
    await service.close()
    line.close()
  }
}
