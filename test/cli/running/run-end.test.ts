import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { start } from '../../support/io.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { argvOf, runModule, sendSigned } from './run-module.ts'

describe('a delivery that is pending at the end of a run', () => {
  const program = `
    const { EVROUTE_ENDPOINT, EVROUTE_URL, EVROUTE_WRITE_KEY: writeKey } = process.env
    const body = JSON.stringify({ writeKey, userId: 'u_1', event: 'Paid' })
    await fetch(EVROUTE_ENDPOINT + '/v1/track', { method: 'POST', body })
    await fetch(new URL('/_evroute/wait?match=type:track&after=0&timeout=25s', EVROUTE_URL))`
  const flags = ['--serve', '--respond', '503', '--expect', 'type:track']

  test('fails it, and is in the report', async () => {
    const path = join(await temporaryFolder(), 'report.xml')
    const argv = [...flags, '--timeout', '0s', '--report', `junit=${path}`]
    const { code, stderr } = await runModule(argv, program)
    expect(stderr).toContain('✖ no delivery is pending: expected none, got 1')
    expect(stderr).toContain('--clock virtual')
    expect(code).toBe(5)
    expect(await readFile(path, 'utf8')).toContain('tests="2" failures="1"')
  })

  test('is reported, and does not fail the run with --allow-pending', async () => {
    const argv = [...flags, '--timeout', '0s', '--allow-pending']
    const { code, stderr } = await runModule(argv, program)
    expect(stderr).toContain('Deliveries still pending: 1')
    expect(code).toBe(0)
  })

  test('is retried in no time with --clock virtual', async () => {
    const argv = ['--serve', '--respond', '503x4,200', '--clock', 'virtual']
    const expected = ['--expect', 'type:track x5']
    const { code, stderr } = await runModule([...argv, ...expected], program)
    expect(stderr).toContain('5 webhooks')
    expect(code).toBe(0)
  })

  test('expires in no time with --clock virtual if every try fails', async () => {
    const { code } = await runModule([...flags, '--clock', 'virtual', '--timeout', '60s'], program)
    expect(code).toBe(0)
  })
})

describe('the exit of a command', () => {
  test.each([
    ['process.exit(7)', 7, '7'],
    ["process.kill(process.pid, 'SIGKILL')", 137, '137 (SIGKILL)'],
  ])('is a failed check if it is not 0: %s', async (program, expected, named) => {
    const path = join(await temporaryFolder(), 'report.xml')
    const argv = ['--expect', 'type:track never', '--report', `junit=${path}`]
    const { code, stderr } = await runModule(argv, program)
    expect(code).toBe(expected)
    const message = `ended with exit code ${named}`
    expect(stderr).toMatch(/\n✔ type:track never: .*\n✖ the command: .*\n {2}Its output .*\n$/)
    expect(stderr).toContain(message)
    const report = await readFile(path, 'utf8')
    expect(report).toContain('tests="2" failures="1"')
    expect(report).toContain(`<failure type="exit_code" message="${message}">`)
  })

  test('is not mentioned after a success', async () => {
    const { stderr } = await runModule([], '')
    expect(stderr).not.toContain('the command')
  })
})

describe('the page of a run', () => {
  test('is shown with --page', async () => {
    const { code, stderr } = await runModule(['--page'], '')
    expect(stderr).toMatch(/^Page {6}http:\/\/127\.0\.0\.1:\d+\/_evroute\/$/m)
    expect(code).toBe(0)
  })

  test('stays after a failure with --hold, until a signal', async () => {
    const argv = argvOf(
      ['--hold', '--expect', 'type:page', '--timeout', '0s'],
      sendSigned + 'await send({})',
    )
    const command = start(argv)
    const [, url = ''] = await command.stderr.matching(/Page {6}(\S+) {2}shows what arrived/)
    const page = await fetch(url)
    expect(page.status).toBe(200)
    const events = await (await fetch(new URL('events', url))).text()
    expect(JSON.parse(events)).toMatchObject({ kind: 'event', signature: 'valid' })
    command.stop('SIGINT')
    expect(await command.ended).toMatchObject({ code: 5 })
  })

  test('does not hold a run that succeeds', async () => {
    expect(await runModule(['--hold'], '')).toMatchObject({ code: 0 })
  })
})
