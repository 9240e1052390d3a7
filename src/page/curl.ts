import type { EventRecord } from '../receiver/index.ts'
import { bytesOf, textOf } from './text.ts'

/** Headers that curl makes itself. */
const ownHeaders = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'expect'])

/** A command for a POSIX shell that sends the same bytes and headers to the same URL. */
export function curlCommand(record: EventRecord, origin: string): string {
  const bytes = bytesOf(record)
  const text = textOf(bytes)
  const isText = text !== undefined && !text.includes('\0')
  const headers = Object.entries(record.headers)
    .filter(([name]) => !ownHeaders.has(name))
    // A semicolon sends a header without a value; a colon would remove it.
    .map(([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`)
  const data = isText ? `--data-binary ${quoted(text)}` : '--data-binary @-'
  // A text that begins with @ would name a file.
  const safeData = isText && text.startsWith('@') ? `--data-raw ${quoted(text)}` : data
  const url = quoted(urlOf(record, origin))
  const command = ['curl', '-i', '-X', record.method, url, ...headers, safeData].join(' ')
  return isText ? command : `echo ${record.rawBase64} | base64 -d | ${command}`
}

/** The sender chose path and Host: neither may lead to another server. */
function urlOf({ path }: EventRecord, origin: string): string {
  return origin + (path.startsWith('/') ? path : '/')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
