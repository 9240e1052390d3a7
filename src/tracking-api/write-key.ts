import type { IncomingHttpHeaders } from 'node:http'
import { headerValue } from '../http/index.ts'
import { isJsonObject } from '../model/index.ts'

const basic = /^basic +(?<credentials>[\w+/=-]+) *$/i

/**
 * The write key in the headers: the user of Basic authorization, even without its colon, or else
 * `X-Write-Key`.
 */
export function headerWriteKey(headers: IncomingHttpHeaders): string | undefined {
  const credentials = basic.exec(headers.authorization ?? '')?.groups?.['credentials'] ?? ''
  const [user] = Buffer.from(credentials, 'base64').toString('utf8').split(':', 1)
  return present(user) ?? present(headerValue(headers['x-write-key']))
}

/** The write key in the body, or else in the query. */
export function bodyWriteKey(document: unknown, query: URLSearchParams): string | undefined {
  const inBody = isJsonObject(document) ? document['writeKey'] : undefined
  return present(inBody) ?? present(query.get('writeKey'))
}

function present(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
