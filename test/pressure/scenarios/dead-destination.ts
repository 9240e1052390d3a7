import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createRuntime, sleep, stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { Service } from '../../../src/service/index.ts'
import { readServiceConfiguration } from '../../../src/service/read-service-configuration.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const backlogMax = 1_000
const durationMs = 25_000
const eventsPerSecond = 100
const token = 'a-token-that-is-not-a-secret'

/** Starts a service that sends to a healthy endpoint, and to one where nothing listens. */
async function start(healthyUrl: string, file: string): Promise<Service> {
  const { configuration } = await readServiceConfiguration(
    {
      listen: { port: 0 },
      admin: { port: 0, token },
      store: `sqlite:${file}`,
      network: { allow: ['127.0.0.0/8'] },
      sources: [{ id: 'website', writeKeys: ['wk_example'] }],
      destinations: [
        { id: 'healthy', endpoints: [{ url: healthyUrl }] },
        { id: 'dead', endpoints: [{ url: 'http://127.0.0.1:9/' }], backlogMax },
      ].map((destination) => ({ ...destination, type: 'Webhooks', sources: ['website'] })),
    },
    { env: {}, log: createRuntime().log },
  )
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined }
  return Service.start({ configuration, runtime: createRuntime({ log }) })
}

/** The answers that the source got. */
interface Posted {
  events: number
  refused: number
  slowestMs: number
}

async function postAll(url: string): Promise<Posted> {
  const posted = { events: 0, refused: 0, slowestMs: 0 }
  const elapsedMs = stopwatch()
  while (elapsedMs() < durationMs) {
    const answeredMs = stopwatch()
    const { status } = await fetch(`${url}/v1/track`, {
      method: 'POST',
      headers: { 'x-write-key': 'wk_example' },
      body: JSON.stringify({ userId: 'u_1', event: 'Ping' }),
    })
    posted.events++
    if (status !== 200) posted.refused++
    posted.slowestMs = Math.max(posted.slowestMs, answeredMs())
    const aheadMs = (posted.events / eventsPerSecond) * 1_000 - elapsedMs()
    if (aheadMs > 0) await sleep(systemClock, aheadMs)
  }
  return posted
}

async function run(): Promise<readonly PressureFinding[]> {
  let received = 0
  const healthy = createServer((_request, response) => {
    received++
    response.end()
  })
  healthy.listen(0, '127.0.0.1')
  await once(healthy, 'listening')
  await using folder = await scratchFolder()
  const healthyUrl = `http://127.0.0.1:${(healthy.address() as AddressInfo).port}/`
  const service = await start(healthyUrl, join(folder.path, 'store.db'))
  try {
    const posted = await postAll(service.address.url)
    const waitedMs = stopwatch()
    while (received < posted.events && waitedMs() < 5_000) await sleep(systemClock, 20)
    const admin = service.address.admin ?? ''
    const headers = { authorization: `Bearer ${token}` }
    // The healthy destination may still be settling its last delivery.
    const listed = await (await fetch(`${admin}/v1/destinations`, { headers })).json()
    const { destinations } = listed as { destinations: readonly { id: string; pending: number }[] }
    const pending = destinations.find(({ id }) => id === 'dead')?.pending ?? Infinity
    const answer = await fetch(`${admin}/v1/deliveries/discard`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ destination: 'dead' }),
    })
    const { deliveries } = (await answer.json()) as { readonly deliveries: number }
    const remaining = await service.pending()
    return [
      {
        must: 'no call of the source is refused',
        measured: `${posted.refused} of ${posted.events}, slowest ${posted.slowestMs.toFixed(0)} ms`,
        holds: posted.refused === 0,
      },
      {
        must: 'the healthy destination gets every event',
        measured: `${received} of ${posted.events}`,
        holds: received === posted.events,
      },
      {
        must: `at most ${backlogMax} deliveries wait for the dead destination`,
        measured: `${pending}`,
        holds: pending <= backlogMax,
      },
      {
        must: 'discarding empties its backlog, except for a probe in flight',
        measured: `${deliveries} discarded, ${remaining} left`,
        holds: deliveries > 0 && remaining <= 1,
      },
    ]
  } finally {
    await service.close(0)
    healthy.close()
    healthy.closeAllConnections()
  }
}

/** A destination that is permanently down, beside a healthy one. */
export const scenario: PressureScenario = {
  title: '100 events/s to a dead destination with a small backlog, and to a healthy one',
  run,
}
