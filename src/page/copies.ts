import { curlCommand, shellQuoted } from '../model/curl-command.ts'
import type { EventRecord } from '../receiver/index.ts'
import { bytesOf, textOf } from './text.ts'

/** Makes a command for a POSIX shell that sends the same bytes and headers to the same path of the page's origin. */
export function curlText(record: EventRecord, origin: string): string {
  return curlCommand({ ...record, text: textOf(bytesOf(record)) }, origin)
}

/** Uses the origin of the page, because the sender chose the Host and could name a different server. */
function urlOf({ path }: EventRecord, origin: string): string {
  return origin + (path.startsWith('/') ? path : '/')
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
  const to = shellQuoted(urlOf(record, origin))
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
