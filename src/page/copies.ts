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

/** What `evroute/testing` and `evroute send` make anew. */
const madeFields = new Set(['version', 'messageId', 'timestamp', 'context'])

/** A call that makes the same webhook, as `evroute send` reads it. */
function callOf({ body }: EventRecord): Readonly<Record<string, unknown>> {
  // An alias has other names in a webhook than in a call.
  const names: Readonly<Record<string, string>> = {
    'Previous ID': 'previousId',
    'User ID': 'userId',
  }
  const fields = Object.entries(body ?? {}).filter(([name]) => name !== 'version')
  return Object.fromEntries(fields.map(([name, value]) => [names[name] ?? name, value]))
}

/** A command for a POSIX shell that sends the same call through `evroute send`. */
export function sendCommand(record: EventRecord, origin: string): string {
  const secret = record.signature === 'unchecked' ? '' : ' --secret env:EVROUTE_SECRET'
  const to = quoted(urlOf(record, origin))
  return `npx evroute send --file - --to ${to}${secret} <<'EOF'\n${JSON.stringify(callOf(record))}\nEOF`
}

/** The body, to be kept in a file for tests. */
export function fixtureText({ body }: EventRecord): string {
  return `${JSON.stringify(body, null, 2)}\n`
}

/** A test that expects such a webhook of the program that sends it. */
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
