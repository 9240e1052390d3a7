import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Dispatcher } from '../../src/delivery/index.ts'
import { createRuntime, silentLog, sleep, stopwatch, systemClock } from '../../src/runtime/index.ts'
import { openStore, type Store } from '../../src/store/index.ts'
import { checkDestination, WebhookSender } from '../../src/webhook/index.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { eventsTo } from '../delivery/dispatching.ts'

/** A dispatcher with a store in a file, and the endpoint that it delivers to. */
export interface LimitedEndpoint {
  readonly dispatcher: Dispatcher
  readonly store: Store
  /** The requests that the endpoint received, and how it answered them. */
  readonly requests: readonly {
    readonly body: string
    readonly status: number
    readonly atMs: number
  }[]
  /** Adds deliveries at a constant rate. */
  readonly addFor: (seconds: number, perSecond: number, prefix: string) => Promise<void>
  /** How often the endpoint's breaker opened. */
  readonly opened: () => number
}

/** Runs `work` with a dispatcher and a real endpoint, which answers `status` after `afterMs`. */
export async function withEndpoint<Result>(
  answer: { readonly status: (nowMs: number) => number; readonly afterMs: number },
  work: (endpoint: LimitedEndpoint) => Promise<Result>,
): Promise<Result> {
  const requests: { body: string; status: number; atMs: number }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const atMs = systemClock.nowMs()
      const status = answer.status(atMs)
      requests.push({ body: Buffer.concat(chunks).toString(), status, atMs })
      systemClock.schedule(answer.afterMs, () =>
        response.writeHead(status, status === 429 ? { 'retry-after': '1' } : {}).end(),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await using folder = await scratchFolder()
  const store = await openStore(`sqlite:${join(folder.path, 'store.db')}`, { ownThread: true })
  let opened = 0
  const observer = {
    request: () => undefined,
    settled: () => undefined,
    endpoint: ({ state }: { readonly state: string }) => (opened += state === 'open' ? 1 : 0),
  }
  const destination = checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: [{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }],
  })
  const sender = new WebhookSender({ destination })
  const runtime = createRuntime({ log: silentLog, observer })
  const dispatcher = new Dispatcher({ store, targets: [{ destination, sender }], runtime })
  const addFor = (seconds: number, perSecond: number, prefix: string): Promise<void> =>
    addEvenly(dispatcher, { seconds, perSecond, prefix })
  try {
    return await work({ dispatcher, store, requests, addFor, opened: () => opened })
  } finally {
    await dispatcher.stop()
    await sender.close()
    await store.close()
    await close(server)
  }
}

async function addEvenly(
  dispatcher: Dispatcher,
  { seconds, perSecond, prefix }: { seconds: number; perSecond: number; prefix: string },
): Promise<void> {
  const elapsedMs = stopwatch()
  for (let added = 0; elapsedMs() < seconds * 1_000;) {
    const count = Math.floor((elapsedMs() * perSecond) / 1_000) - added
    if (count > 0) await dispatcher.add(eventsTo('crm', count, `${prefix}_${systemClock.nowMs()}`))
    added += count
    await sleep(systemClock, 10)
  }
}

async function close(server: Server): Promise<void> {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
