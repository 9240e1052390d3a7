import { isIP } from 'node:net'
import { isJsonObject, type JsonObject } from '../model/index.ts'
import type { SourceType } from './ports.ts'

/** Facts about the client that its connection and headers reveal. */
export interface ClientConnection {
  readonly ip: string | undefined
  readonly userAgent: string | undefined
  /** Whether the client is a browser, and so the user's own device. */
  readonly isBrowser: boolean
}

/** Maximum length of a stored user agent: about three times the length that browsers send. */
const userAgentLengthMax = 1_024

/**
 * Fills in `context.ip` and `context.userAgent` if they are missing and the call comes from the user's own device. The
 * source's type, a browser's headers or `context.direct` show that. A mobile source without `context.direct` gets no
 * `userAgent`, because its header names only the app's library.
 */
export function addClientContext(
  call: JsonObject,
  client: ClientConnection,
  sourceType: SourceType = client.isBrowser ? 'browser' : 'server',
): JsonObject {
  const context = call['context'] ?? {}
  if (!isJsonObject(context)) return call
  const isDirect = context['direct'] === true
  if (sourceType === 'server' && !isDirect) return call
  const { ip, userAgent } = client
  const known = {
    ip: ip === undefined ? undefined : plainAddress(ip),
    userAgent:
      sourceType === 'mobile' && !isDirect ? undefined : userAgent?.slice(0, userAgentLengthMax),
  }
  const missing = Object.entries(known).filter(
    ([name, value]) => value !== undefined && (context[name] ?? null) === null,
  )
  if (missing.length === 0) return call
  return { ...call, context: { ...context, ...Object.fromEntries(missing) } }
}

/** Strips port, brackets and the IPv4-in-IPv6 prefix from an address in a proxy's header; undefined for other text. */
function plainAddress(ip: string): string | undefined {
  const [, v4, v6 = ip] = /^(?:([\d.]+):\d+|\[(.*)\](?::\d+)?)$/.exec(ip) ?? []
  const address = (v4 ?? v6).replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) === 0 ? undefined : address
}
