import { request } from 'undici'
import { onTestFinished } from 'vitest'
import {
  Receiver,
  type ReceivedEvent,
  type ReceiverAddress,
  type ReceiverOptions,
} from '../../src/receiver/index.ts'
import { signBody } from '../../src/webhook/index.ts'

export { dial, readAll, WatchedClock } from '../http/raw-client.ts'

export const secret = 'not-a-real-secret'

export const trackBody = JSON.stringify({ version: 1, type: 'track', userId: 'u_1', event: 'Ping' })

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
}

/** Starts a receiver that runs until the test ends. */
export async function start(
  options: ReceiverOptions = {},
): Promise<{ receiver: Receiver } & ReceiverAddress> {
  const receiver = new Receiver(options)
  onTestFinished(() => receiver.close())
  return { receiver, ...(await receiver.start()) }
}

/** Posts a body and reads the answer as JSON. */
export async function post(
  url: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const response = await request(url, { method: 'POST', body, headers })
  const text = await response.body.text()
  return {
    status: response.statusCode,
    headers: response.headers,
    body: text === '' ? undefined : (JSON.parse(text) as unknown),
  }
}

export function signed(body: string | Buffer, key = secret): Readonly<Record<string, string>> {
  return { 'x-signature': signBody(body, key) }
}

/** Sends a raw request; the connection closes after the answer. */
export function rawPost(target: string, body: string, headers: readonly string[] = []): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  const head = [
    `POST ${target} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    length,
    ...headers,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

export function nextEvent(receiver: Receiver): Promise<ReceivedEvent> {
  return new Promise((resolve) => {
    const end = receiver.on('event', (event) => {
      end()
      resolve(event)
    })
  })
}
