import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Receiver } from '../../../src/receiver/index.ts'
import { freePort } from '../../support/free-port.ts'
import { post, start, trackBody } from '../requests.ts'

describe('a receiver with several endpoints', () => {
  test('has one port for each, and records which endpoint received an event', async () => {
    const { receiver, url, urls, port } = await start({ endpoints: 5 })
    expect(new Set(urls.map((each) => new URL(each).port)).size).toBe(5)
    expect([url, port]).toEqual([urls[0], Number(new URL(urls[0]!).port)])
    for (const each of urls.toReversed()) await post(each, trackBody)
    expect(receiver.events.map(({ seq, endpoint }) => [seq, endpoint])).toEqual([
      [1, 5],
      [2, 4],
      [3, 3],
      [4, 2],
      [5, 1],
    ])
  })

  test('has one endpoint by default, and its events name none', async () => {
    const { receiver, url, urls } = await start()
    expect(urls).toEqual([url])
    await post(url, trackBody)
    expect(receiver.events[0]?.endpoint).toBeNull()
  })

  test('follows a plan for one endpoint, and a shared plan for the others', async () => {
    const { urls } = await start({ endpoints: 3, respond: ['endpoint=2:503', '429,200'] })
    const statuses: number[] = []
    for (const each of [...urls, ...urls]) statuses.push((await post(each, trackBody)).status)
    expect(statuses).toEqual([429, 503, 200, 200, 503, 200])
  })

  test('injects faults on each endpoint and ends them when it closes', async () => {
    const { receiver, urls } = await start({
      endpoints: 2,
      tls: 'self-signed',
      respond: ['endpoint=1:reset', 'endpoint=2:hang'],
    })
    expect(urls.every((each) => each.startsWith('https:'))).toBe(true)
    const dispatcher = { rejectUnauthorized: false }
    const { request } = await import('node:https')
    const errorCodeOf = (each: string): Promise<string | undefined> =>
      new Promise((resolve) => {
        const asking = request(each, { method: 'POST', ...dispatcher })
        asking.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
        asking.end(trackBody)
      })
    expect(await errorCodeOf(urls[0]!)).toBe('ECONNRESET')
    const arrived = receiver.waitFor(2)
    const hanging = errorCodeOf(urls[1]!)
    await arrived
    await receiver.close()
    expect(await hanging).toBe('ECONNRESET')
  })

  test('uses the ports following the given one, and opens all or none', async () => {
    const port = await freePort(2)
    const other = createServer().listen(port + 1, '127.0.0.1')
    await once(other, 'listening')
    const receiver = new Receiver({ port, endpoints: 2 })
    onTestFinished(() => receiver.close())
    await expect(receiver.start()).rejects.toThrow(expect.objectContaining({ code: 'port_in_use' }))
    const own = createServer().listen(port, '127.0.0.1')
    await once(own, 'listening')
    for (const server of [own, other]) {
      server.close()
      await once(server, 'close')
    }
    const { urls } = await receiver.start()
    expect(urls.map((each) => Number(new URL(each).port))).toEqual([port, port + 1])
  })
})
