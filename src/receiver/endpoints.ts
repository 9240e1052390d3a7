import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { listen, type Listening } from '../http/index.ts'
import { certificateOf } from './faults/index.ts'
import type { ReceiverSettings } from './settings.ts'

/** Where a receiver listens, and what clients need to reach it. */
export interface ReceiverAddress {
  /**
   * The URL for webhooks. Any path below it works too. Some paths select the answer: `/status/503`, `/delay/6s`,
   * `/fault/reset`, `/delay/1s/status/503`.
   */
  readonly url: string
  /** The URL of each endpoint, including the first. */
  readonly urls: readonly string[]
  /** The port of the first endpoint. */
  readonly port: number
  /** The token that lets browsers on other machines use the page; null if only this machine can reach the receiver. */
  readonly pageToken: string | null
  /** The certificate of the authority that signed the receiver's certificate, in PEM; null if there is none. */
  readonly authority: string | null
}

/** The open ports of a receiver. */
export type Endpoints = Awaited<ReturnType<typeof openEndpoints>>

/** Opens all ports, or none. Numbers the endpoints from 1. Throws `port_in_use` or `cannot_listen`. */
export async function openEndpoints(
  settings: ReceiverSettings,
  handlerOf: (endpoint: number) => RequestListener,
) {
  const { endpoints, host, runtime } = settings
  const certificate = settings.tls && (await certificateOf(settings.tls))
  const tls = certificate && { current: certificate }
  const ports: Listening[] = []
  const close = async (): Promise<void> => {
    await Promise.all(ports.map((port) => port.close()))
  }
  try {
    for (let index = 0; index < endpoints; index += 1) {
      const port = settings.port === 0 ? 0 : settings.port + index
      const { log } = runtime
      ports.push(await listen(handlerOf(index + 1), { host, port }, { tls, log }))
    }
  } catch (error) {
    await close()
    throw error
  }
  return {
    urls: ports.map(({ url }) => url),
    port: ports[0]?.port ?? 0,
    authority: certificate?.authority ?? null,
    /** Returns the TCP connection below a TLS connection; without TLS, the connection itself. */
    below: (endpoint: number, socket: Socket): Socket =>
      ports[endpoint - 1]?.below(socket) ?? socket,
    /** Stops accepting connections. Requests in flight get half a second to finish. */
    close,
  }
}
