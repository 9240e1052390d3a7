import { passedOnHeaders, type Header } from '../../http/index.ts'
import { isJsonObject, messageOf, parseUrl, SettingError } from '../../model/index.ts'
import { signBody } from '../../webhook/index.ts'
import { post } from '../forward.ts'
import type { ReceivedEvent } from '../received-event.ts'

/** Changes to a request before it is sent again. Parts without a change stay as they are. */
export interface Edit {
  /** The path with its query; it begins with a slash. */
  readonly path?: string | undefined
  /** The URL of a different server, instead of a path of this receiver. */
  readonly url?: string | undefined
  /** All headers. They replace the original ones. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
}

/** Headers that depend on the bytes of the body. They are not sent with an edited request. */
const bodyHeaders = new Set(['x-signature', 'content-encoding'])

const isText = (value: unknown): boolean => typeof value === 'string'

const editParts: Readonly<Record<string, (value: unknown) => boolean>> = {
  path: (value) => typeof value === 'string' && value.startsWith('/'),
  url: isWebUrl,
  headers: (value) => isJsonObject(value) && Object.values(value).every(isText),
  body: isText,
}

/** Reads a path or URL, headers and a body. Throws a SettingError `edit` for anything else. */
export function readEdit(value: unknown = {}): Edit {
  const isEdit =
    isJsonObject(value) &&
    Object.entries(value).every(
      ([name, part]) => Object.hasOwn(editParts, name) && editParts[name]?.(part),
    )
  if (isEdit && !('path' in value && 'url' in value)) return value
  throw new SettingError(
    'edit',
    'Cannot use "edit": it has an unknown field or a wrong value',
    'Give "path" or "url", and also "headers" and "body" if needed. The path must begin with a slash, and the url with http:// or https://. The headers must be an object of strings, and the body a string.',
  )
}

/** A request to send to the receiver or to a different server. */
export interface OutgoingRequest extends Pick<Edit, 'url'> {
  readonly path: string
  /** The headers. Only end-to-end headers are sent. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly isSigned: boolean
}

/** Repeats a received request, edited or unchanged. */
export function repeated(event: ReceivedEvent, edit: Edit): OutgoingRequest {
  return {
    url: edit.url,
    path: edit.path ?? pathOf(edit.url) ?? event.path,
    headers: edit.headers ?? event.headers,
    body: edit.body === undefined ? event.rawBody : Buffer.from(edit.body),
    isSigned: Object.values(edit).some((part) => part !== undefined),
  }
}

/**
 * Reads a new request: a path or URL, headers, and either `body` or `rawBase64`. A `body` is text, and is signed. Bytes
 * in `rawBase64` are signed if `sign` is true. Throws a SettingError `request` for anything else.
 */
export function readRequest(value: unknown): OutgoingRequest {
  const { rawBase64, sign, ...edit } = isJsonObject(value) ? value : {}
  const { url, headers = {}, body, ...given } = readEdit(edit)
  const path = given.path ?? pathOf(url) ?? '/'
  if (typeof rawBase64 === 'string' && body === undefined) {
    return { url, path, headers, body: Buffer.from(rawBase64, 'base64'), isSigned: sign === true }
  }
  if (rawBase64 === undefined && body !== undefined) {
    return { url, path, headers, body: Buffer.from(body), isSigned: true }
  }
  throw new SettingError(
    'request',
    'Cannot use "request": it must have either "body" or "rawBase64", as text',
  )
}

/** Posts a request to a server, signed if there is a secret. Resolves even if there is no answer. */
export async function sendRequest(
  outgoing: OutgoingRequest,
  {
    url,
    secret,
    signal,
  }: { readonly url: string; readonly secret: string | undefined; readonly signal: AbortSignal },
) {
  const { path, body } = outgoing
  const request = { headers: headersOf(outgoing, secret), rawBody: body }
  // Don't verify the receiver's own certificate: no client trusts it, and it may be invalid on purpose.
  const rejectUnauthorized = outgoing.url !== undefined
  try {
    const answer = await post(new URL(url), request, { rejectUnauthorized, path, signal })
    // Don't read the body: with an injected fault, it may never end.
    answer.on('error', () => undefined).destroy()
    return { status: answer.statusCode ?? null, error: null }
  } catch (error) {
    return { status: null, error: signal.aborted ? 'no answer in time' : messageOf(error) }
  }
}

function headersOf(
  { headers, body, isSigned }: OutgoingRequest,
  secret: string | undefined,
): readonly Header[] {
  const passedOn = passedOnHeaders(Object.entries(headers))
  if (!isSigned) return passedOn
  const kept = passedOn.filter(([name]) => !bodyHeaders.has(name.toLowerCase()))
  return secret === undefined ? kept : [...kept, ['x-signature', signBody(body, secret)]]
}

/** Accepts http and https URLs. Refuses credentials, because the page would show them. */
function isWebUrl(value: unknown): boolean {
  const url = typeof value === 'string' ? parseUrl(value) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === ''
}

function pathOf(url: string | undefined): string | undefined {
  if (url === undefined) return undefined
  const { pathname, search } = new URL(url)
  return pathname + search
}
