/** A header, with its name spelled as it was sent. */
export type Header = readonly [name: string, value: string]

/** Headers that belong to one connection or one request. */
const connectionHeaders = new Set([
  'host',
  'content-length',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])

/** Returns the end-to-end headers of a request, without `Host` and `Content-Length`. */
export function passedOnHeaders(headers: readonly Header[]): readonly Header[] {
  const named = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(','))
    .map((name) => name.trim().toLowerCase())
  const dropped = new Set([...connectionHeaders, ...named])
  return headers.filter(([name]) => !dropped.has(name.toLowerCase()))
}
