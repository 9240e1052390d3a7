import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { EncodedCall } from '../../src/client/batch.ts'
import {
  Client,
  type ClientOptions,
  type EncodedBatch,
  type Transport,
  type TransportOutcome,
} from '../../src/client/index.ts'
import { createRuntime, ManualClock, silentLog, type Runtime } from '../../src/runtime/index.ts'

/** 2026-01-02T03:04:05.678Z, the start of the manual clocks of these tests. */
export const startMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** A deterministic runtime: the clock stands still, ids are `id-1`, `id-2`, ..., random is 0.5. */
export function manualRuntime(replacements: Partial<Runtime> = {}): Runtime & {
  readonly clock: ManualClock
} {
  const clock = new ManualClock(startMs)
  let ids = 0
  const parts = { random: () => 0.5, newId: () => `id-${++ids}`, log: silentLog, ...replacements }
  return { ...createRuntime(parts), clock }
}

/** A serialised call. By default, its JSON contains only the messageId. */
export function encodedCall(messageId: string, json = `{"messageId":"${messageId}"}`): EncodedCall {
  return { messageId, type: 'track', json, bytes: Buffer.byteLength(json) }
}

/** The calls in a batch's body. */
export function callsOf({ body }: Pick<EncodedBatch, 'body'>): readonly Record<string, unknown>[] {
  return (JSON.parse(body) as { batch: Record<string, unknown>[] }).batch
}

/** The ids of the calls in a batch's body. */
export function idsOf(batch: Pick<EncodedBatch, 'body'>): readonly unknown[] {
  return callsOf(batch).map((call) => call['messageId'])
}

export const accepted: TransportOutcome = { kind: 'accepted', rejected: [] }
export const unavailable: TransportOutcome = { kind: 'retry', reason: 'unavailable' }

/** A transport that records its input and answers what the test says. */
export class ScriptedTransport implements Transport {
  readonly batches: EncodedBatch[] = []
  readonly signals: AbortSignal[] = []
  closed = 0
  readonly #answer: (
    batch: EncodedBatch,
    count: number,
  ) => TransportOutcome | Promise<TransportOutcome>

  /** @param answer - gets the batch and how many were sent so far, including this one */
  constructor(
    answer: (
      batch: EncodedBatch,
      count: number,
    ) => TransportOutcome | Promise<TransportOutcome> = () => accepted,
  ) {
    this.#answer = answer
  }

  async send(batch: EncodedBatch, signal: AbortSignal): Promise<TransportOutcome> {
    this.batches.push(batch)
    this.signals.push(signal)
    return this.#answer(batch, this.batches.length)
  }

  close(): Promise<void> {
    this.closed++
    return Promise.resolve()
  }
}

/** A client with a manual clock, its transport and that clock. */
export function clientOver(transport = new ScriptedTransport(), options: ClientOptions = {}) {
  const runtime = manualRuntime(options.runtime)
  const client = new Client('wk_example', { transport, ...options, runtime })
  return { client, transport, clock: runtime.clock }
}

/** The messageIds `m-1`, `m-2`, ... */
export function ids(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `m-${index + 1}`)
}

/** Records one call for each of these ids. */
export function record(client: Client, count: number): void {
  for (const messageId of ids(count)) client.track({ userId: 'user-1', event: 'E', messageId })
}

/** A promise and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** A request that an endpoint received. */
export interface ReceivedRequest {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A real HTTP server on a free port that is closed when the test ends. */
export async function startEndpoint(
  respond: (request: ReceivedRequest, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly requests: readonly ReceivedRequest[] }> {
  const requests: ReceivedRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      const received = { method, url, headers, body: Buffer.concat(chunks) }
      requests.push(received)
      respond(received, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1/batch`, requests }
}
