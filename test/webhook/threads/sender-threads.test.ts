import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { AddressGuard } from '../../../src/http/index.ts'
import { ManualClock } from '../../../src/runtime/index.ts'
import {
  SenderThreads,
  type ConnectionKind,
  type Sender,
  type SenderOptions,
} from '../../../src/webhook/index.ts'
import { makeCertificate } from '../../support/certificates.ts'
import { TestEndpoint } from '../../support/endpoint.ts'
import { importedBy, roomsOf } from '../../support/imports.ts'
import { TestProxy } from '../../support/proxy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { runSource, startSource } from '../../support/run-source.ts'
import { startMs } from '../../support/recording-runtime.ts'
import { describeSender } from '../sender-suite.ts'
import { body, postTo } from '../post-to.ts'

/** Opens senders in threads that end after the test, and counts these threads. */
function inThreads(threadsMax = 1) {
  const threads = new SenderThreads(threadsMax)
  let started = 0
  const count = (): void => {
    started++
  }
  process.on('worker', count)
  onTestFinished(async () => {
    process.off('worker', count)
    await threads.close()
  })
  return {
    threads,
    started: () => started,
    open: (options: SenderOptions): Sender => threads.open(options),
  }
}

const shared = new SenderThreads(1)
afterAll(() => shared.close())

describeSender('a sender in a thread of its own', (options) => shared.open(options))

describe('a sender in a thread', () => {
  test('reports the connection of each request', async () => {
    const endpoint = await TestEndpoint.start()
    const { open } = inThreads()
    const kinds: ConnectionKind[] = []
    const post = postTo(
      { url: endpoint.url },
      { open, concurrency: 1, onConnection: (kind) => kinds.push(kind) },
    )
    for (let count = 0; count < 3; count++) await post()
    expect(kinds).toEqual(['opened', 'reused', 'reused'])
  })

  test('connects only to addresses that the guard allows', async () => {
    const endpoint = await TestEndpoint.start()
    const { open, started } = inThreads()
    const refused = await postTo({ url: endpoint.url }, { open, guard: new AddressGuard() })()
    const guard = new AddressGuard({ allow: ['127.0.0.1'] })
    expect(refused).toMatchObject({ kind: 'address_refused', code: 'loopback_address' })
    expect(await postTo({ url: endpoint.url }, { open, guard })()).toMatchObject({ status: 200 })
    expect(endpoint.requests).toHaveLength(1)
    expect(started()).toBe(1)
  })

  test('connects through the proxy of the guard', async () => {
    const [endpoint, proxy] = [await TestEndpoint.start(), await TestProxy.start()]
    const guard = new AddressGuard({ proxy: proxy.url, allow: ['127.0.0.1'] })
    const { open } = inThreads()
    expect(await postTo({ url: endpoint.url }, { open, guard })()).toMatchObject({ status: 200 })
    expect(proxy.tunnels).toHaveLength(1)
  })

  test('signs as Standard Webhooks defines, and adds the headers of the request', async () => {
    const endpoint = await TestEndpoint.start()
    const secret = `whsec_${Buffer.alloc(32, 'no secret').toString('base64')}`
    const { sender } = postTo(
      { url: endpoint.url },
      { open: inThreads().open, standardWebhooks: { secrets: [secret] } },
    )
    const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
    await sender.post({ url: endpoint.url, headers: {} }, { body, messageId: 'm_1', headers })
    expect(endpoint.requests[0]?.headers).toMatchObject({ 'webhook-id': 'm_1', ...headers })
    expect(endpoint.requests[0]?.headers['webhook-signature']).toMatch(/^v1,/)
  })

  test('logs a warning if renewed certificates are unusable', async () => {
    const endpoint = await TestEndpoint.start()
    const folder = await temporaryFolder()
    const ca = join(folder, 'ca.pem')
    await writeFile(ca, (await makeCertificate()).cert)
    const warnings: unknown[] = []
    const log = { warn: (_message: string, fields: unknown) => warnings.push(fields) }
    const post = postTo(
      { url: endpoint.url.replace('http:', 'https:'), tls: { ca } },
      { open: inThreads().open, log },
    )
    await post()
    await writeFile(ca, 'no certificate')
    await post()
    expect(warnings).toEqual([
      { reason: `Cannot use ${ca}: it contains no certificate in PEM format` },
    ])
  })
})

describe('threads', () => {
  test('share the senders, and start with their first sender', async () => {
    const { open, started } = inThreads(2)
    const endpoint = await TestEndpoint.start()
    expect(started()).toBe(0)
    const posts = [1, 2, 3].map(() => postTo({ url: endpoint.url }, { open }))
    await Promise.all(posts.map((post) => post()))
    expect(endpoint.requests).toHaveLength(3)
    expect(started()).toBe(2)
  })

  test('are not used by senders that need functions or a clock of this thread', async () => {
    const endpoint = await TestEndpoint.start()
    const { open, started } = inThreads()
    const resolveName = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
    const guard = new AddressGuard({ allow: ['127.0.0.1'], resolveName })
    const compose = () => ({ headers: { 'X-Made-By': 'compose' }, body })
    for (const needs of [{ guard }, { compose }, { clock: new ManualClock(startMs) }]) {
      expect(await postTo({ url: endpoint.url }, { open, ...needs })()).toMatchObject({
        status: 200,
      })
    }
    expect(endpoint.requests[1]?.headers['x-made-by']).toBe('compose')
    expect(started()).toBe(0)
  })

  test('interrupt requests in flight when they are closed, and accept no more', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const { threads, open } = inThreads()
    const post = postTo({ url: endpoint.url }, { open })
    const outcome = post()
    await endpoint.received(1)
    await threads.close()
    expect(await outcome).toEqual({ kind: 'interrupted' })
    expect(await post()).toEqual({ kind: 'interrupted' })
    await post.sender.close()
    await endpoint.disconnected()
  })

  test('fail requests if they end by themselves, and their senders can be closed', async () => {
    const endpoint = await TestEndpoint.start('hang')
    const { threads, open } = inThreads()
    const started = once(process, 'worker') as Promise<[Worker]>
    const post = postTo({ url: endpoint.url }, { open })
    const outcome = post()
    await endpoint.received(1)
    const [worker] = await started
    void worker.terminate()
    const failure = 'Cannot send webhooks: the sender thread has ended with exit code 1'
    await expect(outcome).rejects.toThrow(failure)
    await expect(post()).rejects.toThrow(failure)
    await post.sender.close()
    await threads.close()
  })

  test('keep the process alive only until requests end', async () => {
    const endpoint = await TestEndpoint.start()
    const program = new URL('post-and-leave-open.ts', import.meta.url)
    expect(await runSource(program, [endpoint.url])).toBe('answered\n')
  })

  test('end the process with an unexpected error', async () => {
    const child = startSource(new URL('post-to-unknown.ts', import.meta.url), [])
    expect(await once(child, 'exit')).toEqual([1, null])
  })

  test('load only the rooms that sending needs', async () => {
    expect(roomsOf(await importedBy('webhook/threads/sender-thread.ts'))).toEqual([
      'http',
      'model',
      'runtime',
      'threads',
      'webhook',
    ])
  })
})
