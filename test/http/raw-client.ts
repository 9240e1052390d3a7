import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { ManualClock } from '../../src/runtime/index.ts'

/** A raw connection that sends text, whether or not it is HTTP. */
export async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  // A server may reset a connection that misbehaves.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Reads everything that arrives until the connection closes. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume()
  // It may have closed while the caller awaited something else.
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return Buffer.concat(chunks).toString('utf8')
}

/** Reads the next data that arrives. */
export async function readSome(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString('utf8')
}

/** The head of a POST request; the body is sent later. */
export function postHead(headers: readonly string[], target = '/'): string {
  return [`POST ${target} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
}

/** Writes up to `bytes` blanks, until the other side stops reading. Returns how many it accepted. */
export async function writeBlanks(socket: Socket, bytes: number): Promise<number> {
  const chunk = Buffer.alloc(64 * 1024, 0x20)
  let bytesWritten = 0
  while (socket.writable && bytesWritten < bytes) {
    const part = chunk.subarray(0, bytes - bytesWritten)
    await new Promise((resolve) => socket.write(part, resolve))
    bytesWritten += part.length
  }
  return bytesWritten
}

/** A manual clock that reports when a wait of a given length begins, and counts holds. */
export class WatchedClock extends ManualClock {
  readonly #watches = new Map<number, () => void>()
  holds = 0

  /** Resolves once a task with this delay is scheduled. */
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
