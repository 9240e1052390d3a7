import type { IncomingHttpHeaders } from 'node:http'
import { headerValue } from '../http/index.ts'
import { isJsonObject } from '../model/index.ts'

const basic = /^basic +(?<credentials>[\w+/=-]+) *$/i

/** Returns the user name of Basic authorization, or else `X-Write-Key`. Accepts a user name without a colon. */
export function headerWriteKey(headers: IncomingHttpHeaders): string | undefined {
  const credentials = basic.exec(headers.authorization ?? '')?.groups?.['credentials'] ?? ''
  const [user] = Buffer.from(credentials, 'base64').toString('utf8').split(':', 1)
  return present(user) ?? present(headerValue(headers['x-write-key']))
}

/** Returns the write key from the body, or else from the query. */
export function bodyWriteKey(document: unknown, query: URLSearchParams): string | undefined {
  const inBody = isJsonObject(document) ? document['writeKey'] : undefined
  return present(inBody) ?? present(query.get('writeKey'))
}

function present(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
