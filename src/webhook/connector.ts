import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { buildConnector as BuildConnector } from 'undici'
import {
  lookupBy,
  systemNames,
  type AddressGuard,
  type TlsFiles,
  type TlsTexts,
} from '../http/index.ts'
import { AddressRefusedError } from '../model/index.ts'
import { isShortage, ProxyError } from './outcome.ts'
import { buildConnector } from './undici.ts'

/** Opens a socket and returns it unconnected; undefined if the address is forbidden. undici's type omits the result. */
export type Connect = (
  options: BuildConnector.Options,
  callback: BuildConnector.Callback,
) => Socket | undefined

/** Returns the function that opens sockets to endpoints, through the guard's proxy if it has one. */
export function connector(guard: AddressGuard | undefined, tls: TlsFiles | undefined): Connect {
  const direct = following(tls, guard)
  if (guard === undefined) return direct
  const connect = guard.proxy === undefined ? direct : throughProxy(guard.proxy, direct)
  return (target, callback) => {
    // An IP address is never looked up, so check it here.
    const refusal = guard.refusalOf(target.hostname)
    if (refusal === undefined) return connect(target, callback)
    // Call back asynchronously, as a real connection attempt would.
    queueMicrotask(() => callback(new AddressRefusedError(refusal), null))
    return undefined
  }
}

/** Connects with the current certificates. Connections with older ones last until their maximum age. */
function following(tls: TlsFiles | undefined, guard: AddressGuard | undefined): Connect {
  if (tls === undefined) return plainConnector(guard)
  let used = tls.current
  let connect = plainConnector(guard, used)
  return (...parameters) => {
    const { current } = tls
    // Make a new connector, because the old one would resume TLS sessions that used the old certificate.
    if (current !== used) connect = plainConnector(guard, current)
    used = current
    return connect(...parameters)
  }
}

function plainConnector(guard: AddressGuard | undefined, certificates?: TlsTexts): Connect {
  return buildConnector({
    ...certificates,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment has no effect.
    rejectUnauthorized: true,
    // No timeout: the request's deadline also covers connecting, and is more exact.
    timeout: 0,
    // The guard's look-up returns exactly the addresses that it has checked.
    lookup: guard?.lookup ?? lookupBy(systemNames.resolve),
  }) as (...parameters: Parameters<Connect>) => Socket
}

/** The sockets that are waiting for a forward proxy to open a tunnel. Maps each to the proxy's host. */
const waiting = new WeakMap<Socket, string>()

/** Returns the timeout error for a socket that is waiting for a proxy; undefined for any other socket. */
export function proxyTimeout(socket: Socket | undefined): ProxyError | undefined {
  const host = socket && waiting.get(socket)
  return host === undefined ? undefined : new ProxyError(host, 'timeout')
}

/**
 * Connects through a forward proxy's tunnels. Plain http uses a tunnel too, so that the proxy's own answers are never
 * mistaken for the endpoint's. `secure` starts TLS with the endpoint inside a tunnel.
 */
function throughProxy(proxy: string, secure: Connect): Connect {
  const { protocol, host, hostname, port, username, password } = new URL(proxy)
  const server = { protocol, host, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port }
  const user = [username, password].map(decodeURIComponent).join(':')
  const authorization = `Basic ${Buffer.from(user).toString('base64')}`
  const headers = user === ':' ? {} : { 'proxy-authorization': authorization }
  // The operator chose the proxy, so the guard doesn't check its address.
  const connect = plainConnector(undefined)
  return (target, callback) => {
    const failed = (error: unknown): void =>
      callback(isShortage(error) ? (error as Error) : new ProxyError(host, error), null)
    const socket = connect(server, (...[error]) => {
      if (error !== null) failed(error)
      else openTunnel().once('error', failed).once('connect', opened).end()
    }) as Socket
    waiting.set(socket, host)
    return socket

    function openTunnel(): ClientRequest {
      const { host: name = '', port: given } = target
      const path = given === '' ? `${name}:${target.protocol === 'https:' ? 443 : 80}` : name
      const createConnection = (): Socket => socket
      return request({
        method: 'CONNECT',
        path,
        headers: { ...headers, host: path },
        createConnection,
      })
    }

    function opened({ statusCode = 0 }: IncomingMessage, _: Socket, head: Buffer): void {
      waiting.delete(socket)
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy()
        failed(`status_${statusCode}`)
        return
      }
      if (head.length > 0) socket.unshift(head)
      if (target.protocol === 'https:') secure({ ...target, httpSocket: socket }, callback)
      else callback(null, socket)
    }
  }
}
