import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { TestEndpoint } from '../../support/endpoint.ts'
import { run, start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function post(url: unknown, body: object): Promise<number> {
  const response = await request(url as string, { method: 'POST', body: JSON.stringify(body) })
  await response.body.dump()
  return response.statusCode
}

const track = { type: 'track', userId: 'u_1', event: 'E', messageId: 'm_1' }

describe('listen refuses at once', () => {
  test.each([
    [['--expect', 'sig:valid x1'], 'signatures are not checked without a secret'],
    [['--on-event', 'no-such-program'], 'Cannot run no-such-program: there is no such program'],
    [['--last', '3'], 'Cannot use --last without --save'],
    [['-v', '-q'], 'Cannot use --verbose together with --quiet'],
    [
      ['--forward-to', '3000', '--forward-filter', 'type:trick'],
      'Cannot read the match expression',
    ],
  ])('%j', async (argv, message) => {
    const { code, stderr } = await run(['listen', '-p', '0', ...argv], { env: { PATH: '/bin' } })
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

test('listen names the original of a repeated request', async () => {
  const command = start(['listen', '-p', '0', '--count', '3'])
  const [, url] = await command.stderr.matching(/Listening {2}(\S+)\n/)
  for (const messageId of ['m_1', 'm_2', 'm_1']) await post(url, { ...track, messageId })
  const { stdout } = await command.ended
  expect(stdout.split('\n').map((line) => /same id: .*/.exec(line)?.[0])).toEqual([
    undefined,
    undefined,
    'same id: #1',
    undefined,
  ])
})

test("listen --forward-to records the target's answer", async () => {
  const target = await TestEndpoint.start({ status: 422, body: 'no such order' })
  const argv = ['listen', '-p', '0', '--json', '--count', '1', '--forward-to', target.url]
  const command = start(argv)
  await post((await command.stdout.record('ready'))['url'], track)
  const { records } = await command.ended
  const forward = { status: 422, answer: 'no such order' }
  expect(records.find(({ kind }) => kind === 'event')).toMatchObject({ forward })
})

test('--last shows the last requests of the file of --save first', async () => {
  const file = join(await temporaryFolder(), 'capture.ndjson')
  const first = start(['listen', '-p', '0', '--save', file, '--count', '3', '--json'])
  const { url } = await first.stdout.record('ready')
  for (const event of ['A', 'B', 'C']) await post(url, { ...track, event })
  await first.ended
  const again = start(['listen', '-p', '0', '--save', file, '--last', '2', '--timeout', '0ms'])
  const { stdout } = await again.ended
  expect(stdout).not.toContain('“A”')
  expect(stdout).toMatch(/^.*#2 .*“B”.*\n.*#3 .*“C”.*\n$/)
  expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(3)
})

test.runIf(process.platform === 'linux')('--last cannot read every file of --save', async () => {
  // It can be written, but not read.
  const file = '/proc/self/clear_refs'
  const { code, stderr } = await run(['listen', '-p', '0', '--save', file, '--last', '2'])
  expect(stderr).toContain(`Cannot read ${file}: `)
  expect(code).toBe(7)
})

test('--save does not append to a compressed file', async () => {
  const file = join(await temporaryFolder(), 'capture.ndjson.gz')
  const compressed = gzipSync('{"v":1}\n')
  await writeFile(file, compressed)
  const { code, stderr } = await run(['listen', '-p', '0', '--save', file, '--timeout', '0ms'])
  expect(code).toBe(7)
  expect(stderr).toContain(`Cannot save to ${file}: it is compressed`)
  expect((await readFile(file)).equals(compressed)).toBe(true)
})

test('--token lets other machines read the requests', async () => {
  const argv = ['listen', '-p', '0', '--json', '--token', 'not-a-real-token']
  const command = start(argv)
  const { url } = await command.stdout.record('ready')
  // A request through a proxy counts as one from another machine.
  const statusWith = async (headers: Readonly<Record<string, string>>): Promise<number> => {
    const proxied = { 'x-forwarded-for': '192.0.2.1', ...headers }
    const answer = await request(`${url as string}/_evroute/events`, { headers: proxied })
    await answer.body.dump()
    return answer.statusCode
  }
  expect(await statusWith({})).toBe(403)
  expect(await statusWith({ authorization: 'Bearer not-the-token' })).toBe(403)
  expect(await statusWith({ authorization: 'Bearer not-a-real-token' })).toBe(200)
  command.stop('SIGINT')
  await command.ended
})

test('--save says what to do about a folder, and about a folder that does not exist', async () => {
  const folder = await temporaryFolder()
  const { stderr } = await run(['listen', '-p', '0', '--save', folder])
  expect(stderr).toBe(`evroute: Cannot save to ${folder}: it is a folder. Name a file in it.\n`)
  const missing = await run(['listen', '-p', '0', '--save', join(folder, 'a', 'b.ndjson')])
  expect(missing.stderr).toContain(
    ': its folder does not exist. Check that the folder exists and is writable.',
  )
})

test('on a terminal, prints a command that can be pasted, with the secret as it was given', async () => {
  for (const [secret, word] of Object.entries({
    "it's": String.raw`'it'\''s'`,
    'env:KEY': 'env:KEY',
  })) {
    const argv = ['listen', '-p', '0', '--no-color', '--secret', secret, '--timeout', '1ms']
    const { stderr } = await run(argv, { isTTY: true, env: { KEY: 'not-a-real-secret' } })
    expect(stderr).toMatch(/ send track --to \S+ --secret /)
    expect(stderr).toContain(` --secret ${word}\n`)
    expect(stderr).not.toContain('not-a-real-secret')
  }
})
