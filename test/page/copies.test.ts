import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { curlText, fixtureText, sendCommand, testText } from '../../src/page/copies.ts'
import { Receiver, eventRecord } from '../../src/receiver/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

/** Returns the arguments and the input that a shell passes to curl. */
async function asCurlSeesIt(command: string): Promise<{ args: string[]; input: string }> {
  const folder = await temporaryFolder()
  const program = `#!${process.execPath}
    const chunks = []
    const hasInput = process.argv.includes('@-')
    const print = () => console.log(JSON.stringify({
      args: process.argv.slice(2), input: Buffer.concat(chunks).toString('base64') }))
    if (hasInput) process.stdin.on('data', (chunk) => chunks.push(chunk)).on('end', print)
    else print()`
  await writeFile(join(folder, 'curl'), program)
  await chmod(join(folder, 'curl'), 0o755)
  const { stdout } = await run('sh', ['-c', command], {
    env: { PATH: `${folder}:${process.env['PATH'] ?? ''}` },
  })
  return JSON.parse(stdout) as { args: string[]; input: string }
}

test.skipIf(process.platform === 'win32').each([
  ['a webhook', '{"type":"track","userId":"u_1"}'],
  ['quotes, dollars and line breaks', `it's "$HOME" \`id\`\n\\n`],
  ['a text that looks like a file', '@/etc/passwd'],
  ['a byte order mark', '\ufeff{"type":"track"}'],
])('the command for %s sends the same request', async (_name, body) => {
  await using receiver = new Receiver()
  const { url } = await receiver.start()
  const headers = { 'x-team': "growth's", 'x-empty': '' }
  await (await fetch(`${url}/a?b='c`, { method: 'POST', body, headers })).arrayBuffer()
  const record = eventRecord(receiver.events[0]!)
  const { args } = await asCurlSeesIt(curlText(record, url))
  expect(args.slice(0, 5)).toEqual(['-g', '-i', '-X', 'POST', `${url}/a?b=%27c`])
  expect(args).toContain("x-team: growth's")
  expect(args).toContain('x-empty;')
  expect(args.some((argument) => argument.startsWith('host:'))).toBe(false)
  expect(args[args.indexOf('--data-raw') + 1]).toBe(body)
})

test.each(['//evil.example.com/x', 'http://evil.example.com/x'])(
  'the path %s does not lead to a different server',
  (path) => {
    const record = { path, method: 'POST', headers: { host: 'evil.example.com' }, rawBase64: '' }
    const command = curlText(record as never, 'http://127.0.0.1:4100')
    expect(command).toMatch(/ 'http:\/\/127\.0\.0\.1:4100\//)
  },
)

test.skipIf(process.platform === 'win32')(
  'the command has no control characters, and sends the same bytes',
  async () => {
    const rawBody = Buffer.from('{"event":"\u009bm\u202e"}')
    const headers = { 'x-note': '50% \\ \u00c2\u009b31m\u001b]52;' }
    const record = { path: '/', method: 'POST', headers, rawBase64: rawBody.toString('base64') }
    const command = curlText(record as never, 'http://127.0.0.1:4100')
    expect(command).toMatch(/^[\x20-\x7e]+$/)
    const { args, input } = await asCurlSeesIt(command)
    expect(args.some((argument) => argument === 'x-note: 50% \\ \u009b31m\u001b]52;')).toBe(true)
    expect(Buffer.from(input, 'base64')).toEqual(rawBody)
  },
)

test.skipIf(process.platform === 'win32')('bytes that are not text go through base64', async () => {
  await using receiver = new Receiver()
  const { url } = await receiver.start()
  const bytes = Buffer.from([0xff, 0, 0x41])
  await (await fetch(url, { method: 'POST', body: bytes })).arrayBuffer()
  const { input } = await asCurlSeesIt(curlText(eventRecord(receiver.events[0]!), url))
  expect(Buffer.from(input, 'base64')).toEqual(bytes)
})

/** Returns the record of a webhook that a receiver got. */
async function recordOf(body: object, headers: Readonly<Record<string, string>> = {}) {
  await using receiver = new Receiver({ secret: 'not-a-real-secret' })
  const { url } = await receiver.start()
  await (
    await fetch(`${url}/hook`, { method: 'POST', body: JSON.stringify(body), headers })
  ).arrayBuffer()
  return { record: eventRecord(receiver.events[0]!), url }
}

test.skipIf(process.platform === 'win32').each([
  [{ version: 1, type: 'track', userId: "u_'1", event: 'Order $PAID\nEOF' }, {}],
  [
    { version: 1, type: 'alias', 'Previous ID': 'a_1', 'User ID': 'u_1' },
    { previousId: 'a_1', userId: 'u_1', 'Previous ID': undefined, 'User ID': undefined },
  ],
])('the send command contains the call that leads to the webhook %j', async (body, changed) => {
  const { record, url } = await recordOf(body)
  const command = sendCommand(record, url)
  expect(command).toContain(`--to '${url}/hook' --secret env:EVROUTE_SECRET`)
  const { stdout } = await run('sh', ['-c', command.replace(/^npx evroute send .*<</, 'cat <<')])
  const call = { ...body, ...changed, version: undefined }
  expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(call)))
})

test('a copied fixture is the body', async () => {
  const body = { version: 1, type: 'page', userId: 'u_1', properties: { a: ['b'] } }
  const { record } = await recordOf(body)
  expect(JSON.parse(fixtureText(record))).toEqual(body)
})

test('a copied test expects the same webhook with any messageId', async () => {
  const body = { version: 1, type: 'track', userId: 'u_1', event: 'Paid', properties: { a: [1] } }
  const { record } = await recordOf({ ...body, messageId: 'm_1', context: { ip: '192.0.2.1' } })
  const text = testText(record)
  const [, expected = ''] = /expect\((\{[^]*?\n {2}\})\)\n/.exec(text) ?? []
  expect(text).toContain("import { startReceiver } from 'evroute/testing'")
  await using receiver = new Receiver()
  const { url } = await receiver.start()
  const other = { ...body, messageId: 'm_2' }
  await (await fetch(url, { method: 'POST', body: JSON.stringify(other) })).arrayBuffer()
  const parsed = JSON.parse(expected) as Record<string, string>
  expect(await receiver.expect(parsed, { timeoutMs: 0 })).toHaveLength(1)
})
