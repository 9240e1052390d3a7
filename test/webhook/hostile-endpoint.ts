import { EventEmitter, once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { body } from './post-to.ts'

/** Answers a request on the raw connection, usually in a wrong way. */
export type HostileAnswer = (socket: Socket) => void

const dripIntervalMs = 10
const goodAnswer = head(204)

/**
 * A server on a free port of 127.0.0.1 that writes raw bytes. Each request gets the next answer, and a 204
 * after the last one.
 */
export class HostileEndpoint {
  /** The number of requests that arrived completely. */
  requests = 0
  /** The number of connections accepted so far. */
  connections = 0
  /** The maximum of bytes written to one connection, counted when it closes. */
  sentBytesMax = 0
  readonly #server: Server
  #answers: readonly HostileAnswer[]
  readonly #sockets = new Set<Socket>()
  readonly #events = new EventEmitter()

  private constructor(server: Server, answers: readonly HostileAnswer[]) {
    this.#server = server
    this.#answers = answers
    server.on('connection', (socket: Socket) => this.#accept(socket))
  }

  /** Starts an endpoint that listens until the test ends. */
  static async start(...answers: readonly HostileAnswer[]): Promise<HostileEndpoint> {
    const server = createServer()
    const endpoint = new HostileEndpoint(server, answers)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => endpoint.#close())
    return endpoint
  }

  /** Returns the URL. With `https`, the TLS handshake hangs. */
  url(scheme: 'http' | 'https' = 'http'): string {
    return `${scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  /** Answers every further request with a 204. */
  recover(): void {
    this.#answers = []
  }

  /** Resolves once this many connections were accepted. */
  async accepted(count: number): Promise<void> {
    while (this.connections < count) await once(this.#events, 'connection')
  }

  /** Resolves once this many requests arrived. */
  async received(count: number): Promise<void> {
    while (this.requests < count) await once(this.#events, 'request')
  }

  /** Resolves once no connection is open. */
  async disconnected(): Promise<void> {
    while (this.#sockets.size > 0) await once(this.#events, 'close')
  }

  /** Writes to every open connection, and resolves once that is done. */
  async writeToAll(text: string): Promise<void> {
    const written = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => socket.write(text, () => resolve())),
    )
    await Promise.all(written)
  }

  #accept(socket: Socket): void {
    this.connections++
    this.#sockets.add(socket)
    this.#events.emit('connection')
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      if (!text.endsWith(Buffer.from(body).toString('latin1'))) return
      text = ''
      this.#answer(socket)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.sentBytesMax = Math.max(this.sentBytesMax, socket.bytesWritten)
      this.#sockets.delete(socket)
      this.#events.emit('close')
    })
  }

  #answer(socket: Socket): void {
    const answer = this.#answers[this.requests] ?? send(goodAnswer)
    this.requests++
    this.#events.emit('request')
    answer(socket)
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}

/** Returns a status line and headers, with the empty line that ends them. */
export function head(status: number, headers = ''): string {
  return `HTTP/1.1 ${status} Status\r\n${headers}\r\n`
}

/** Sends nothing. */
export const hang: HostileAnswer = () => undefined

/** Writes bytes and keeps the connection open. */
export function send(bytes: string | Uint8Array): HostileAnswer {
  return (socket) => void socket.write(bytes)
}

/** Writes text and closes the connection. */
export function sendAndEnd(text: string): HostileAnswer {
  return (socket) => void socket.end(text)
}

/** Writes text and resets the connection. */
export function sendAndReset(text: string): HostileAnswer {
  return (socket) => void socket.write(text, () => socket.resetAndDestroy())
}

/** Writes the beginning, then repeats the rest as fast as the client reads. */
export function sendEndlessly(beginning: string, rest: string): HostileAnswer {
  return (socket) => {
    const bytes = Buffer.from(rest.repeat(Math.ceil((16 * 1024) / rest.length)))
    const write = (): void => {
      while (!socket.destroyed && socket.write(bytes));
      if (!socket.destroyed) socket.once('drain', write)
    }
    socket.write(beginning)
    write()
  }
}

/** Writes the beginning, then repeats the rest, one byte every 10 ms. */
export function drip(beginning: string, rest: string): HostileAnswer {
  return (socket) => {
    let index = 0
    const timer = setInterval(() => {
      socket.write(rest.charAt(index++ % rest.length))
    }, dripIntervalMs)
    socket.write(beginning)
    socket.once('close', () => clearInterval(timer))
  }
}

/** Stops reading and keeps the connection open, as if the machine were gone, until `comeBack` is called. */
export function vanish(): { readonly answer: HostileAnswer; readonly comeBack: () => void } {
  let vanished: Socket | undefined
  return {
    answer: (socket) => {
      vanished = socket.pause()
    },
    comeBack: () => void vanished?.resume(),
  }
}
