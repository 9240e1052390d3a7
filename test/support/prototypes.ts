import { createServer, IncomingMessage, ServerResponse, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { request } from 'undici'
import { expect, onTestFinished } from 'vitest'

/** Posts to a listener, and expects that it keeps the prototypes of the request and the response. */
export async function expectOwnPrototypes(listener: RequestListener, path: string): Promise<void> {
  const prototypes: unknown[] = []
  const server = createServer((incoming, response) => {
    listener(incoming, response)
    prototypes.push(Object.getPrototypeOf(incoming), Object.getPrototypeOf(response))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { body } = await request(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: '{}' })
  await body.dump()
  expect(prototypes).toEqual([IncomingMessage.prototype, ServerResponse.prototype])
}
