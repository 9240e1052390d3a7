import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TestEndpoint } from '../../support/endpoint.ts'
import { unreachableUrl } from '../../support/free-port.ts'
import { run } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

describe('one call', () => {
  test('has one line with the endpoint and the answer', async () => {
    const { url } = await TestEndpoint.start(202)
    const { stderr } = await run(['send', 'track', '--to', url])
    expect(stderr).toMatch(new RegExp(`^✔ track "Order Completed" → ${url} 202 in [\\d.]+m?s\n$`))
  })

  test('has the equation too with -v', async () => {
    const { url } = await TestEndpoint.start()
    const { stderr } = await run(['send', 'page', '-v', '--to', url])
    expect(stderr).toMatch(/\n✔ page .*\n1 read = .* · 1 delivery = 1 delivered \(/)
  })

  test('says why it failed, with the beginning of the answer', async () => {
    const { url } = await TestEndpoint.start(404)
    const { code, stderr } = await run(['send', 'identify', '--to', url])
    expect(code).toBe(4)
    expect(stderr).toContain(`✖ identify → ${url} failed after 1 attempt: answered 404\n`)
  })

  test('shows the beginning of the first answer that is retried, and of no other', async () => {
    const { url } = await TestEndpoint.start({ status: 500, body: 'Traceback:\n  KeyError' })
    const argv = ['send', 'track', '--clock', 'virtual', '--retry-for', '40s', '--to', url]
    const { stderr } = await run(argv)
    expect(stderr).toMatch(/ {2}attempt 1 .*\n {2}└ it said: Traceback: KeyError\n/)
    expect(stderr).toContain('  attempt 2  ')
    expect(stderr.match(/it said/g)).toHaveLength(1)
  })

  test('says that redirects are not followed', async () => {
    const { url } = await TestEndpoint.start({ status: 301, headers: { location: '/hook/' } })
    const { stderr } = await run(['send', 'track', '--to', url])
    expect(stderr).toContain(
      '  └ Redirects are not followed. Use the URL that the endpoint redirects to, often the same with https or a trailing slash\n',
    )
  })

  test('has the last answer if the retry window ended while it waited', async () => {
    const { url } = await TestEndpoint.start({ status: 429, headers: { 'retry-after': '1' } })
    const argv = ['send', 'track', '--clock', 'virtual', '--retry-for', '3s', '--to', url]
    const { stderr } = await run(argv)
    expect(stderr).toMatch(
      / expired after \d attempts?: the retry window has ended \(window_over\); it last answered 429\n$/,
    )
  })

  test('warns of a key that looks like a field of the call', async () => {
    const { url } = await TestEndpoint.start()
    const argv = ['send', 'track', 'userId=u_7', 'event=E', '--to', url]
    const { code, stderr } = await run([...argv, '--event', 'F'])
    expect(code).toBe(0)
    expect(stderr).toContain('userId=u_7 sets properties.userId. To set userId, pass --user-id.\n')
    expect(stderr).not.toContain('event=E sets')
    expect((await run([...argv, '-q'])).stderr).not.toContain(' sets ')
    expect((await run(['send', 'identify', 'name=Ada', '--to', url])).stderr).not.toContain(
      ' sets ',
    )
  })

  test('says that a filter left it out', async () => {
    const { url } = await TestEndpoint.start()
    const argv = ['send', 'track', '--integration', 'All=false', '--to', url]
    const { stderr } = await run(argv)
    expect(stderr).toBe(
      `– track "Order Completed" was filtered out: its integrations exclude ${url}\n`,
    )
  })

  test('would be sent, in a dry run', async () => {
    const { stdout, stderr } = await run(['send', 'track', '--dry-run'])
    expect(stdout).toContain('  would be sent: all destinations are enabled by default\n')
    expect(stderr).toBe('track "Order Completed" would be sent to http://127.0.0.1:4100/\n')
  })
})

test('a dry run of many calls counts those that would be sent', async () => {
  const { stderr } = await run(['send', 'track', '--count', '3', '--dry-run', '-q'])
  expect(stderr).toMatch(/^3 read = 3 accepted · 3 accepted = 3 routed · 3 would be sent \(/)
})

describe('send refuses at once', () => {
  test.each([
    [['track', 'revenue:=1e999'], 'Cannot read the value of revenue: a number is too large'],
    [['track', 'a:=[{"b":-1e999}]'], 'Cannot read the value of a: a number is too large'],
    [['track', '--user-id', ''], 'It must not be empty'],
    [['track', '-v', '-q'], 'Cannot use --verbose together with --quiet'],
  ])('%j', async (argv, message) => {
    const { code, stderr } = await run(['send', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

test('a replay ends with the next command, ready to paste', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'calls of may.ndjson')
  await writeFile(file, '{"type":"track","userId":"u_1","event":"E"}\n')
  const store = `sqlite:${join(folder, 'store.db')}`
  const to = await unreachableUrl()
  const argv = ['replay', file, '--store', store, '--retry-for', '0s', '--to', to]
  const { stderr } = await run([...argv, '--secret', 'not-a-real-secret'])
  expect(stderr).toMatch(
    /\nNext: evroute deliveries --store sqlite:\S+ --state failed --state expired\n$/,
  )
})
