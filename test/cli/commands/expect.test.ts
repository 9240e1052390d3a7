import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../src/http/index.ts'
import { start as startReceiver, post, trackBody } from '../../receiver/requests.ts'
import { gate } from '../../support/gate.ts'
import { run, start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const order = JSON.stringify({
  type: 'track',
  userId: 'u_1',
  event: 'Order Completed',
  properties: { revenue: 12 },
})

/** A capture of a ping and two orders, as `listen --json` writes it. */
async function capture(): Promise<string> {
  const file = join(await temporaryFolder(), 'capture.ndjson')
  const command = start(['listen', '-p', '0', '--json', '--count', '3'])
  const { url } = await command.stdout.record('ready')
  for (const body of [trackBody, order, order]) await post(url as string, body)
  await writeFile(file, (await command.ended).stdout)
  return file
}

test('expect stops asking once one of its expectations is refused', async () => {
  const [requested, ended] = [gate(), gate()]
  const server = createServer((request, response) => {
    if (request.url?.includes('type%3Apage') === true) {
      void requested.opened.then(() => response.writeHead(409).end('{"error":{"message":"gone"}}'))
      return
    }
    request.socket.once('close', ended.open)
    requested.open()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const argv = ['expect', 'type:track', 'type:page', '--api', `http://127.0.0.1:${port}`]
  const { code, stderr } = await run(argv)
  expect(code).toBe(5)
  expect(stderr).toContain('The receiver refused the request: gone')
  await ended.opened
})

describe('expect --in', () => {
  test('passes if the capture meets the expectations', async () => {
    const file = await capture()
    const argv = ['expect', 'event:"Order*" x2', 'type:page never', '--in', file]
    expect(await run(argv)).toEqual(
      expect.objectContaining({
        code: 0,
        stdout: '',
        stderr: '✔ event:Order* x2: 2 arrived\n✔ type:page never: 0 arrived\n',
      }),
    )
    expect(await run([...argv, '-q'])).toMatchObject({ code: 0, stderr: '' })
    const stdin = await readFile(file)
    expect(await run(['expect', 'type:track x3', '--in', '-', '--json'], { stdin })).toMatchObject({
      code: 0,
      stderr: '',
      records: [
        {
          v: 1,
          kind: 'expectation',
          text: 'type:track x3',
          state: 'met',
          matched: 3,
          account: 'expected exactly 3, got 3',
        },
      ],
    })
    expect(await run(['expect', 'type:track x1', '--after', '2', '--in', file])).toMatchObject({
      code: 0,
    })
  })

  test('prints bad rows as plain text, and counts those beyond the first ten', async () => {
    const file = join(await temporaryFolder(), 'capture.ndjson')
    await writeFile(file, 'no \u001b[2J JSON\n'.repeat(1_012))
    const { code, stderr } = await run(['expect', 'type:track', '--in', file])
    expect(code).toBe(5)
    expect(stderr).not.toContain('\u001b')
    expect(stderr.match(/is not counted/g)).toHaveLength(10)
    expect(stderr).toContain('\n... and 1,002 more\n')
  })

  test('shows the differences side by side, and ends with 5', async () => {
    const argv = ['expect', 'properties.revenue:>20', 'user:u_1 x1', '--in', await capture()]
    const { code, stderr } = await run(argv)
    expect(code).toBe(5)
    expect(stderr).toBe(
      [
        '✖ properties.revenue:>20: expected at least 1, got 0',
        '  The nearest request is #2:',
        '                        expected  received',
        '  ! properties.revenue  >20       12',
        '✖ user:u_1 x1: expected exactly 1, got 3',
        '  #2 is one too many',
        '',
      ].join('\n'),
    )
    const colored = await run(argv, { env: { FORCE_COLOR: '1' } })
    expect(colored.stderr).toContain('\u001b[31m! properties.revenue  >20       12\u001b[39m')
    const json = await run([...argv, '--json'])
    expect(json.records).toMatchObject([
      { state: 'unmet', matched: 0 },
      { state: 'unmet', matched: 3 },
    ])
    const [error] = json.stderr.split('\n')
    expect(JSON.parse(error!)).toMatchObject({
      error: {
        code: 'expectation_unmet',
        message: expect.stringContaining('! properties.revenue  >20       12') as string,
      },
    })
  })

  test('skips lines that are not records, says so, and ends with 3', async () => {
    const file = await capture()
    await writeFile(
      file,
      `${await readFile(file, 'utf8')}{"type":"track"}\n{"v":1,"kind":"event"}\n{`,
    )
    const { code, stderr } = await run(['expect', 'type:track x3', '--in', file])
    expect(code).toBe(3)
    expect(stderr).toContain(
      `Line 6 of ${file} is not counted: it was not written by evroute listen\n`,
    )
    expect(stderr).toContain(
      `Line 7 of ${file} is not counted: it was not written by evroute listen\n`,
    )
    expect(stderr).toContain(`Line 8 of ${file} is not counted: The row is not valid JSON`)
    expect((await run(['expect', 'type:page', '--in', file])).code).toBe(5)
    expect((await run(['expect', 'type:page', '--in', `${file}.gone`])).code).toBe(7)
  })
})

describe('expect --api', () => {
  test('waits until a running receiver has the webhook', async () => {
    const { receiver, url } = await startReceiver()
    const command = start(['expect', 'type:track x2..', 'event:Ping', '--api', `${url}/?a=b`])
    await post(url, order)
    await post(url, trackBody)
    expect(await command.ended).toMatchObject({ code: 0 })
    expect(receiver.counts.received).toBe(2)
  })

  test('ends with 5, as with a capture, if the time ends or too many webhooks arrived', async () => {
    const { url } = await startReceiver()
    await post(url, order)
    const argv = ['expect', 'properties.revenue:>20', 'type:track never', '--api', url]
    const { code, stderr } = await run([...argv, '--timeout', '1ms'])
    expect(code).toBe(5)
    expect(stderr).toBe(
      [
        '✖ properties.revenue:>20: expected at least 1, got 0',
        '  The nearest request is #1:',
        '                        expected  received',
        '  ! properties.revenue  >20       12',
        '✖ type:track never: expected none, got 1',
        '  #1 is one too many',
        '',
      ].join('\n'),
    )
  })

  test('ends with 5 if the receiver no longer keeps the first requests', async () => {
    const { url } = await startReceiver({ eventsMax: 1 })
    for (const body of [order, order]) await post(url, body)
    const { code, stderr } = await run(['expect', 'type:page never', '--api', url])
    expect(code).toBe(5)
    expect(stderr).toContain('the first request is no longer kept. Pass --after')
  })

  test('ends with 130 when it is interrupted', async () => {
    const { url } = await startReceiver()
    const command = start(['expect', 'type:track', '--api', url, '--timeout', '1h'])
    command.stop()
    expect(await command.ended).toMatchObject({ code: 130, stderr: '' })
  })

  test('reports a mistake in the address', async () => {
    const strange = await listen((_request, response) => response.end('hello'), {
      host: '127.0.0.1',
      port: 0,
    })
    onTestFinished(() => strange.close())
    const answered = await run(['expect', 'type:track', '--api', strange.url])
    expect(answered).toMatchObject({ code: 2 })
    expect(answered.stderr).toContain('is not an evroute receiver')
    const free = createServer()
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
    const { port } = free.address() as { port: number }
    await new Promise((resolve) => free.close(resolve))
    const silent = await run(['expect', 'type:track', '--api', `127.0.0.1:${port}`])
    expect(silent).toMatchObject({ code: 7 })
    expect(silent.stderr).toContain(
      'connection refused (ECONNREFUSED). Check that `evroute listen` is running there',
    )
  })
})

describe('expect', () => {
  test.each([
    [['type:track'], 'Pass either --api with the URL of a receiver or --in'],
    [['type:track', '--api', 'http://a', '--in', 'b'], 'Pass either --api'],
    [['type:track', '--in', 'b', '--timeout', '1s'], 'Cannot use --timeout with --in'],
    [['type:track', '--api', 'ftp://a'], 'it must be an http URL'],
    [['type:trak', '--in', 'b'], '  type:trak\n       ^^^^'],
    [['type:track', '--in', 'b', '--report', 'xunit=a'], 'It must be junit=<file>'],
    [[], '<expectation> is missing'],
  ])('refuses %j with 2', async (argv, text) => {
    const { code, stderr } = await run(['expect', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(text)
  })

  test('writes reports for other programs', async () => {
    const folder = await temporaryFolder()
    const [junit, summary] = [join(folder, 'report.xml'), join(folder, 'summary.md')]
    const argv = ['expect', 'type:track', 'type:page', '--in', await capture()]
    const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary }
    const { code, stderr } = await run([...argv, '--report', `junit=${junit}`], { env })
    expect(code).toBe(5)
    expect(await readFile(junit, 'utf8')).toContain('<failure type="too_few" message="expected at')
    expect(await readFile(summary, 'utf8')).toContain('1 of 2 expectations met')
    expect(stderr).toMatch(/^::error title=evroute expect::type:page: /m)
    expect((await run(argv, { env: { GITHUB_ACTIONS: 'true' } })).stderr).toContain('::error ')
    expect((await run(argv)).stderr).not.toContain('::error ')
  })

  test('ends with 7 if a report cannot be written, but not if the summary of a job cannot', async () => {
    const folder = await temporaryFolder()
    await mkdir(join(folder, 'taken'))
    const argv = ['expect', 'type:track', '--in', await capture()]
    const report = await run([...argv, '--report', `junit=${join(folder, 'taken')}`])
    expect(report).toMatchObject({ code: 7 })
    expect(report.stderr).toContain('Cannot write the report')
    const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: join(folder, 'taken') }
    const summary = await run(argv, { env })
    expect(summary).toMatchObject({ code: 0 })
    expect(summary.stderr).toContain('Cannot write the job summary')
  })
})
