import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'

/** Where to listen. */
export interface ListenAddress {
  /** An address or name of this machine, such as `127.0.0.1`. */
  readonly host: string
  /** 1 to 65535, or 0 for a free one. */
  readonly port: number
}

/** A server that accepts connections. */
export interface Listening {
  /** The server. */
  readonly server: Server
  /** The port that is bound, also when a free one was asked for. */
  readonly port: number
  /** The server's address as a URL without a path or final slash. */
  readonly url: string
  /** Stops accepting, lets requests end for `graceMs` of real time, then closes their connections. */
  close(graceMs?: number): Promise<void>
}

/** Time that requests under way are given when a server closes. */
const closeGraceMs = 500

/**
 * Starts an HTTP server and resolves once it accepts connections.
 *
 * @throws EvrouteError `port_in_use` or `cannot_listen`
 */
export async function listen(handler: RequestListener, address: ListenAddress): Promise<Listening> {
  const server = createServer(handler)
  // A connection that is kept alive would hold up a server that closes.
  server.on('request', (_request, response) =>
    response.once('close', () => {
      if (!server.listening) server.closeIdleConnections()
    }),
  )
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(address.port, address.host, resolve)
    })
  } catch (error) {
    throw listenError(error, address)
  }
  const { port } = server.address() as AddressInfo
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return {
    server,
    port,
    url: `http://${host}:${port}`,
    close: (graceMs = closeGraceMs) => closeServer(server, graceMs),
  }
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = systemClock.schedule(graceMs, () => server.closeAllConnections())
    server.close(() => {
      timer.cancel()
      resolve()
    })
  })
}

function listenError(error: unknown, { host, port }: ListenAddress): EvrouteError {
  if (systemCode(error) === 'EADDRINUSE') {
    return new EvrouteError({
      code: 'port_in_use',
      message: `Cannot listen on port ${port}: another process uses it`,
      hint: 'Pass --port 0 for a free one.',
      cause: error,
    })
  }
  return new EvrouteError({
    code: 'cannot_listen',
    message: `Cannot listen on ${host} port ${port}: ${messageOf(error)}`,
    hint: 'Check that the host is an address of this machine and that the port may be opened.',
    cause: error,
  })
}
