import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLoopbackAddress } from '../http/index.ts'
import { SettingError } from '../model/index.ts'

/** The API and the page are below this path. */
export const apiPrefix = '/_evroute/'
/** The path prefix of actions, which need POST. */
export const actionsPrefix = '/_evroute/actions/'

/** Thrown if a request names something that does not exist. It is answered 404. */
export class NotFoundError extends Error {}

/** The headers that proxies and HTTP tunnels add, such as `X-Forwarded-For`, `X-Real-IP` and `CF-Connecting-IP`. */
const proxyHeader = /^(?:via|cdn-loop|(?:x-)?forwarded(?:-.+)?|.+-(?:real|client|connecting)-ip)$/

/**
 * Whether a request comes from this machine. A request through a proxy or an HTTP tunnel does not count, because a
 * different machine may have sent it. TCP tunnels, and proxies that add no header, cannot be recognised.
 */
export function isLocalRequest({
  headers,
  httpVersion,
  socket,
}: Pick<IncomingMessage, 'headers' | 'httpVersion'> & {
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>
}): boolean {
  // By default, nginx adds no header, but before 1.29.7 it speaks HTTP/1.0.
  const isProxied =
    httpVersion === '1.0' || Object.keys(headers).some((name) => proxyHeader.test(name))
  return !isProxied && isLoopbackAddress(socket.remoteAddress ?? '')
}

/** Resolves when a response can take more data, or is closed. */
export async function drained(response: ServerResponse): Promise<void> {
  // A destroyed response emits neither `drain` nor `close`.
  if (response.destroyed) return
  const over = new AbortController()
  const settled = ['drain', 'close'].map((name) => once(response, name, { signal: over.signal }))
  await Promise.race(settled.map((each) => each.catch(() => undefined)))
  over.abort()
}

/** Reads the values of a query. Throws a SettingError for an unknown or repeated name. */
export function readQuery<Name extends string>(
  query: URLSearchParams,
  known: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  const values: Partial<Record<Name, string>> = {}
  for (const [name, value] of query) {
    const found = known.find((each) => each === name)
    if (found === undefined || values[found] !== undefined) {
      const reason = found === undefined ? 'there is no such parameter' : 'it is given twice'
      throw new SettingError(name, `Cannot use "${name}": ${reason}`, `Use ${known.join(', ')}.`)
    }
    values[found] = value
  }
  return values
}
