import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { request } from 'undici'
import { onTestFinished } from 'vitest'
import { Receiver, type ReceivedEvent, type ReceiverOptions } from '../../src/receiver/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { signBody } from '../../src/webhook/index.ts'

export const secret = 'not-a-real-secret'

export const trackBody = JSON.stringify({ version: 1, type: 'track', userId: 'u_1', event: 'Ping' })

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
}

/** A receiver that runs until the test ends. */
export async function start(
  options: ReceiverOptions = {},
): Promise<{ receiver: Receiver; url: string; port: number }> {
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

/** A connection that says what it is told, whether or not it is HTTP. */
export async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  // A receiver may well reset a connection that misbehaves.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Everything that arrives until the other side ends the connection. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await new Promise((resolve) => socket.once('close', resolve))
  return Buffer.concat(chunks).toString('utf8')
}

/** A request as it goes over the wire; the connection closes after its answer. */
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

/** A manual clock that says when somebody begins to wait for a given time, and counts holds. */
export class WatchedClock extends ManualClock {
  readonly #watches = new Map<number, () => void>()
  holds = 0

  /** Resolves once a task is scheduled that long from its moment. */
  scheduled(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#watches.set(delayMs, resolve))
  }

  override schedule(delayMs: number, task: () => void): ReturnType<ManualClock['schedule']> {
    const timer = super.schedule(delayMs, task)
    this.#watches.get(delayMs)?.()
    return timer
  }

  override hold(): () => void {
    this.holds++
    return () => this.holds--
  }
}
