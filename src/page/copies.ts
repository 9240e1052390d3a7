import type { EventRecord } from '../receiver/index.ts'
import { bytesOf, textOf } from './text.ts'

/** Headers that curl sets itself. */
const ownHeaders = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'expect'])

/** Makes a command for a POSIX shell that sends the same bytes and headers to the same URL. */
export function curlCommand(record: EventRecord, origin: string): string {
  const bytes = bytesOf(record)
  const text = textOf(bytes)
  const isText = text !== undefined && !/[\p{Cc}\p{Bidi_Control}]/u.test(text.replaceAll('\n', ''))
  const headers = Object.entries(record.headers)
    .filter(([name]) => !ownHeaders.has(name))
    // curl sends `name;` as a header without a value, and drops a header written as `name:`.
    .map(([name, value]) => `-H ${bytesWord(value === '' ? `${name};` : `${name}: ${value}`)}`)
  const data = isText ? `--data-binary ${quoted(text)}` : '--data-binary @-'
  // --data-binary would read a file if the text begins with @.
  const safeData = isText && text.startsWith('@') ? `--data-raw ${quoted(text)}` : data
  const url = bytesWord(urlOf(record, origin))
  const command = ['curl', '-g', '-i', '-X', record.method, url, ...headers, safeData].join(' ')
  return isText ? command : `echo ${record.rawBase64} | base64 -d | ${command}`
}

/** Uses the origin of the page, because the sender chose the Host and could name a different server. */
function urlOf({ path }: EventRecord, origin: string): string {
  return origin + (path.startsWith('/') ? path : '/')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Quotes a path or a header, in which each character is one byte. Writes bytes outside ASCII in octal. */
function bytesWord(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return quoted(text)
  const octal = (byte: string): string => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`
  return `"$(printf -- ${quoted(text.replace(/[^\x20-\x7e]|[\\%]/g, octal))})"`
}

/** Fields that a test does not expect, because evroute sets them and they are different in each run. */
const madeFields = new Set(['version', 'messageId', 'timestamp', 'context'])

/** Returns the call that results in the same webhook, in the format of `evroute send`. */
function callOf({ body }: EventRecord): Readonly<Record<string, unknown>> {
  // Field names in the webhook of an alias, and in its call.
  const names: Readonly<Record<string, string>> = {
    'Previous ID': 'previousId',
    'User ID': 'userId',
  }
  const fields = Object.entries(body ?? {}).filter(([name]) => name !== 'version')
  return Object.fromEntries(fields.map(([name, value]) => [names[name] ?? name, value]))
}

/** Makes a command for a POSIX shell that sends the same call with `evroute send`. */
export function sendCommand(record: EventRecord, origin: string): string {
  const secret = record.signature === 'unchecked' ? '' : ' --secret env:EVROUTE_SECRET'
  const to = quoted(urlOf(record, origin))
  return `npx evroute send --file - --to ${to}${secret} <<'EOF'\n${JSON.stringify(callOf(record))}\nEOF`
}

export function fixtureText({ body }: EventRecord): string {
  return `${JSON.stringify(body, null, 2)}\n`
}

/** Writes a test that expects a program to send this webhook. */
export function testText({ type, body }: EventRecord): string {
  const expected = Object.entries(body ?? {}).filter(([name]) => !madeFields.has(name))
  const text = JSON.stringify(Object.fromEntries(expected), null, 2).replaceAll('\n', '\n  ')
  return `import { test } from 'node:test'
import { startReceiver } from 'evroute/testing'

test('sends the ${type ?? ''} webhook', async () => {
  const receiver = await startReceiver()
  // Let your program send to receiver.url, and sign with receiver.secret.
  await receiver.expect(${text})
  await receiver.close()
})
`
}
