import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { curlCommand } from '../../src/page/curl.ts'
import { Receiver, eventRecord } from '../../src/receiver/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

/** The arguments and the input that a shell gives to curl. */
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
  ['a webhook', '{"type":"track","userId":"u_1"}', '--data-binary'],
  ['quotes, dollars and line breaks', `it's "$HOME" \`id\`\n\\n`, '--data-binary'],
  ['a text that looks like a file', '@/etc/passwd', '--data-raw'],
])('the command for %s sends the same request', async (_name, body, flag) => {
  await using receiver = new Receiver()
  const { url } = await receiver.start()
  const headers = { 'x-team': "growth's", 'x-empty': '' }
  await (await fetch(`${url}/a?b='c`, { method: 'POST', body, headers })).arrayBuffer()
  const record = eventRecord(receiver.events[0]!)
  const { args } = await asCurlSeesIt(curlCommand(record, url))
  expect(args.slice(0, 4)).toEqual(['-i', '-X', 'POST', `${url}/a?b=%27c`])
  expect(args).toContain("x-team: growth's")
  expect(args).toContain('x-empty;')
  expect(args.some((argument) => argument.startsWith('host:'))).toBe(false)
  expect(args[args.indexOf(flag) + 1]).toBe(body)
})

test.each(['//evil.example.com/x', 'http://evil.example.com/x'])(
  'the path %s leads to no other server',
  (path) => {
    const record = { path, method: 'POST', headers: { host: 'evil.example.com' }, rawBase64: '' }
    const command = curlCommand(record as never, 'http://127.0.0.1:4100')
    expect(command).toMatch(/ 'http:\/\/127\.0\.0\.1:4100\//)
  },
)

test.skipIf(process.platform === 'win32')('bytes that are no text go through base64', async () => {
  await using receiver = new Receiver()
  const { url } = await receiver.start()
  const bytes = Buffer.from([0xff, 0, 0x41])
  await (await fetch(url, { method: 'POST', body: bytes })).arrayBuffer()
  const { input } = await asCurlSeesIt(curlCommand(eventRecord(receiver.events[0]!), url))
  expect(Buffer.from(input, 'base64')).toEqual(bytes)
})
