import type { RequestListener, Server } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { systemCode } from '../model/index.ts'
import type { TlsFiles } from './tls-files.ts'

const speaksHttps = 'This port speaks https\n'
const answerToHttp = `HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: ${speaksHttps.length}\r\nconnection: close\r\n\r\n${speaksHttps}`

/** A server that can close its connections, including the ones below TLS. */
export interface SecureServer {
  readonly server: Server
  /** Closes all connections, including those without a finished handshake. */
  readonly closeConnections: () => void
  /** Returns the TCP connection below a TLS connection. */
  readonly below: (socket: Socket) => Socket
}

/** Creates an https server. It reloads changed certificate files, and tells http clients to use https. */
export function secureServer(
  { headersTimeout = 0, ...options }: ServerOptions,
  handler: RequestListener,
  files: Pick<TlsFiles, 'current'>,
): SecureServer {
  let used = files.current
  const common = { headersTimeout, handshakeTimeout: headersTimeout }
  const server = createServer({ ...options, ...common, ...used }, handler)
  const sockets = new Map<string, Socket>()
  server.prependListener('connection', (socket: Socket) => {
    const { current } = files
    if (current !== used) server.setSecureContext(current)
    used = current
    const name = nameOf(socket)
    sockets.set(name, socket)
    socket.once('close', () => sockets.delete(name))
  })
  // Node's own listener would encrypt the answer to a fault, but the handshake is not finished.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (error: Error, secured: TLSSocket) => {
    const socket = sockets.get(nameOf(secured))
    if (systemCode(error) !== 'ERR_SSL_HTTP_REQUEST') socket?.destroy()
    else socket?.end(answerToHttp, () => socket.destroySoon())
  })
  const closeConnections = (): void => {
    for (const socket of sockets.values()) socket.destroy()
  }
  const below = (socket: Socket): Socket => sockets.get(nameOf(socket)) ?? socket
  return { server, closeConnections, below }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
