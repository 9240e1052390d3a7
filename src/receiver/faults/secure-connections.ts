import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import type { Certificate } from './certificates.ts'

const handshakeTimeoutMs = 10_000

/** Adds TLS to a server. */
export class SecureConnections {
  /** TCP connections by the client's address, which a TLS connection shares with the TCP connection below it. */
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

  /** Returns the TCP connection below a TLS connection. */
  below(socket: Socket): Socket {
    return this.#connections.get(addressOf(socket)) ?? socket
  }

  /** Closes connections that are still in the TLS handshake. */
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
