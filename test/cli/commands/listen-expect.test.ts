import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { post, trackBody } from '../../receiver/requests.ts'
import { run, start, type RunningCommand, type RunSettings } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const order = JSON.stringify({
  type: 'track',
  userId: 'u_1',
  event: 'Order Completed',
  properties: { revenue: 12 },
})

async function listening(
  argv: readonly string[],
  settings?: RunSettings,
): Promise<{ command: RunningCommand; url: string }> {
  const command = start(['listen', '-p', '0', ...argv], settings)
  const output = argv.includes('--json') ? command.stdout : command.stderr
  const [url] = await output.matching(/http:\/\/127\.0\.0\.1:\d+/)
  return { command, url }
}

test('listen --count says that too few webhooks arrived', async () => {
  const argv = ['listen', '-p', '0', '--count', '3', '--timeout', '1ms']
  const { code, stderr } = await run(argv)
  expect(code).toBe(5)
  expect(stderr).toMatch(/\n0 webhooks in .*\n✖ --count 3: expected at least 3, got 0\n$/)
  expect((await run([...argv, '-q'])).stderr).toBe('')
})

describe('listen --expect', () => {
  test('ends with 0 as soon as all expectations are met', async () => {
    const { command, url } = await listening([
      '--expect',
      'event:"Order*"',
      '--expect',
      'event:Ping',
    ])
    await post(url, order)
    await post(url, trackBody)
    const { code, stderr } = await command.ended
    expect(code).toBe(0)
    expect(stderr).toMatch(/\nExpecting {2}event:Order\*\nExpecting {2}event:Ping\n/)
    expect(stderr).toMatch(/^2 webhooks in .*\n✔ event:Order\*: 1 arrived\n✔ event:Ping: .*\n$/m)
  })

  test('ends with 5 when the time is over, and shows the nearest request side by side', async () => {
    const argv = ['--expect', 'properties.revenue:>20', '--expect', 'type:page never']
    const { command, url } = await listening([...argv, '--timeout', '1s'])
    await post(url, order)
    const { code, stderr } = await command.ended
    expect(code).toBe(5)
    expect(stderr).toContain(
      [
        '✖ properties.revenue:>20: expected at least 1, got 0',
        '  The nearest request is #1:',
        '                        expected  received',
        '  ! properties.revenue  >20       12',
        '✔ type:page never: 0 arrived',
        '',
      ].join('\n'),
    )
  })

  test('ends as soon as one webhook too many arrives', async () => {
    const { command, url } = await listening(['--expect', 'type:track never', '--json'])
    await post(url, order)
    const { code, records, stderr } = await command.ended
    expect(code).toBe(5)
    expect(records.at(-1)).toMatchObject({
      kind: 'summary',
      received: 1,
      expectations: [
        {
          text: 'type:track never',
          state: 'unmet',
          matched: 1,
          account: 'expected none, got 1',
        },
      ],
    })
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'expectation_unmet' } })
  })

  test('is judged by the requests so far if a signal ends it', async () => {
    const { command, url } = await listening(['--expect', 'type:track x1'])
    expect(command.stderr.text).toContain('Expecting  type:track x1 until --timeout or Ctrl-C\n')
    await post(url, order)
    command.stop()
    expect(await command.ended).toMatchObject({ code: 0 })
    const unmet = await listening(['--expect', 'type:track x1'])
    unmet.command.stop()
    expect(await unmet.command.ended).toMatchObject({ code: 5 })
  })

  test('works with --count: both must be met', async () => {
    const argv = ['--expect', 'event:Ping', '--count', '2', '-q']
    const { command, url } = await listening([...argv, '--json'])
    await post(url, trackBody)
    await post(url, order)
    expect(await command.ended).toMatchObject({ code: 0, stderr: '' })
    const few = await listening([...argv, '--json'])
    await post(few.url, trackBody)
    few.command.stop()
    expect(await few.command.ended).toMatchObject({ code: 5 })
  })

  test('writes a report, and refuses one without expectations', async () => {
    const file = join(await temporaryFolder(), 'report.xml')
    const report = ['--report', `junit=${file}`]
    const argv = ['listen', '-p', '0', '--expect', 'type:track', '--timeout', '1ms', ...report]
    expect(await run(argv)).toMatchObject({ code: 5 })
    expect(await readFile(file, 'utf8')).toContain('<testsuite name="evroute listen" tests="1"')
    const refused = await run(['listen', '-p', '0', ...report])
    expect(refused).toMatchObject({ code: 2 })
    expect(refused.stderr).toContain('Cannot report without an expectation. Pass --expect too.')
  })

  test.each([
    [['--expect', 'type:trak'], '  type:trak\n       ^^^^'],
    [['--filter', 'type:track x2'], 'only an expectation can have a count or a time'],
  ])('refuses %j with 2', async (argv, text) => {
    const { code, stderr } = await run(['listen', '-p', '0', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(text)
  })
})

describe('listen --filter', () => {
  test.each([
    [['--json'], /"kind":"event"/g],
    [[], /TRACK/g],
  ])('shows only matching webhooks and counts all, with %j', async (argv, line) => {
    const expected = ['--filter', 'event:Ping', '--expect', 'event:"Order*"', '--count', '2']
    const { command, url } = await listening([...argv, ...expected])
    expect(await post(url, order)).toMatchObject({ status: 200 })
    await post(url, trackBody)
    const { code, stdout } = await command.ended
    expect(code).toBe(0)
    expect(stdout.match(line)).toHaveLength(1)
    expect(stdout).toContain('Ping')
  })
})

test('expect --api checks the requests of a running listener', async () => {
  const { command, url } = await listening(['--json'])
  await post(url, order)
  expect(await run(['expect', 'event:"Order*"', '--api', url])).toMatchObject({ code: 0 })
  command.stop()
  await command.ended
})
