import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import type { Certificate } from './certificates.ts'

/** How long a client may take to agree on how to talk. */
const handshakeTimeoutMs = 10_000

/** Puts TLS between a server and its clients. */
export class SecureConnections {
  /** By the address of the client, which is the same above TLS. */
  readonly #connections = new Map<string, Socket>()
  readonly #shaking = new Set<Socket>()

  constructor(server: Server, { cert, key }: Certificate) {
    const serve = server.listeners('connection') as ((socket: TLSSocket) => void)[]
    const handshakes = createServer({ cert, key, handshakeTimeout: handshakeTimeoutMs })
    server.removeAllListeners('connection')
    server.on('connection', (socket) => {
      this.#add(socket)
      handshakes.emit('connection', socket)
    })
    handshakes.on('secureConnection', (socket) => {
      this.#shaking.delete(this.below(socket))
      for (const listener of serve) listener.call(server, socket)
    })
  }

  /** The connection that carries one with TLS. */
  below(socket: Socket): Socket {
    return this.#connections.get(addressOf(socket)) ?? socket
  }

  /** Ends connections that no request can come over yet. */
  endHandshakes(): void {
    for (const socket of this.#shaking) socket.destroy()
  }

  #add(socket: Socket): void {
    const address = addressOf(socket)
    this.#connections.set(address, socket)
    this.#shaking.add(socket)
    socket.once('close', () => {
      this.#connections.delete(address)
      this.#shaking.delete(socket)
    })
  }
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? ''}`
}
