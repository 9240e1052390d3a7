import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { binaryPath } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { onTerminal } from './on-terminal.ts'

const columns = 60

/** Runs the command on a terminal. */
function runOnTerminal(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const options = { cols: columns, env }
  const { screen, ended, terminal } = onTerminal(process.execPath, [binaryPath, ...argv], options)
  return { screen, ended, type: (text: string) => terminal.write(text) }
}

const controlC = '\u0003'
const controlD = '\u0004'
const eraseLine = '\u001b[0K'

describe('on a terminal', () => {
  test('a transfer shows its progress in one line, erases it, and ends on Ctrl-C', async () => {
    const endpoint = await TestEndpoint.start([503, 'hang'])
    const argv = ['send', 'track', '--count', '1000', '--to', endpoint.url]
    const { screen, ended, type } = runOnTerminal(argv)
    const [line = ''] = await screen.matching(/[\d,]+ of [\d,]+ \(\d+%\) · [^\r\n\u001b]*/)
    expect(line).toMatch(/0 of 1,000 \(0%\) · 0\/s · 1,000 pending/)
    // The spinner takes two columns.
    expect(line.length).toBeLessThanOrEqual(columns - 2)
    type(controlC)
    expect(await ended).toBe(130)
    const end = screen.text.slice(screen.text.lastIndexOf('%) · '))
    expect(end).toContain(eraseLine)
    const words = stripVTControlCharacters(end.slice(end.lastIndexOf(eraseLine)))
    expect(words).toMatch(/^1,000 read = /m)
    expect(words).toContain('Interrupted: 1,000 of 1,000 deliveries pending')
    // The cursor is visible again.
    expect(screen.text.lastIndexOf('\u001b[?25h')).toBeGreaterThan(
      screen.text.lastIndexOf('\u001b[?25l'),
    )
  })

  test('the progress leaves room for the ^C that the terminal echoes', async () => {
    const { screen, ended, type } = runOnTerminal(['send', 'track', '--to', 'http://127.0.0.1:1/'])
    const [line = ''] = await screen.matching(
      /0 of 1 \(0%\) · [^\r\n\u001b]*last problem: [^\r\n\u001b]*/,
    )
    expect('- '.length + line.length + '^C'.length).toBeLessThan(columns)
    type(controlC)
    expect(await ended).toBe(130)
  })

  test.each([
    { given: 'the terminal', flags: [], env: {}, coloured: true },
    { given: 'NO_COLOR', flags: [], env: { NO_COLOR: '1' }, coloured: false },
    { given: '--no-color', flags: ['--no-color'], env: {}, coloured: false },
  ])('colours follow $given, even in the progress line', async ({ flags, env, coloured }) => {
    const endpoint = await TestEndpoint.start('hang')
    const { screen, ended, type } = runOnTerminal(
      ['send', 'track', '--to', endpoint.url, ...flags],
      env,
    )
    await screen.matching(/0 of 1 \(0%\)/)
    type(controlC)
    expect(await ended).toBe(130)
    expect(/\u001b\[\d+m/.test(screen.text)).toBe(coloured)
  })

  test('a short transfer shows no progress', async () => {
    const endpoint = await TestEndpoint.start()
    const { screen, ended } = runOnTerminal(['send', 'track', '--to', endpoint.url])
    expect(await ended).toBe(0)
    expect(stripVTControlCharacters(screen.text)).toMatch(/^✔ track “?"?Order Completed/)
  })

  test('calls may be typed', async () => {
    const endpoint = await TestEndpoint.start()
    const { screen, ended, type } = runOnTerminal(['send', '-f', '-', '--to', endpoint.url])
    await screen.matching(/Reading from the terminal. Press Ctrl-D to end the input/)
    type('{"type":"track","userId":"u_1","event":"E"}\r')
    type(controlD)
    expect(await ended).toBe(0)
    expect(endpoint.bodies).toMatchObject([{ event: 'E' }])
  })

  test('Ctrl-C ends a command that waits for typed input', async () => {
    const { screen, ended, type } = runOnTerminal(['sign', '--secret', 'k'])
    await screen.matching(/Reading from the terminal/)
    type(controlC)
    expect(await ended).toBe(130)
  })

  test('a refused setting ends the command before any output', async () => {
    const argv = ['send', 'track', '--endpoint', 'ftp://example.com', '--write-key', 'k']
    const { screen, ended } = runOnTerminal(argv)
    expect(await ended).toBe(2)
    expect(screen.text).toContain('it is not a full http or https URL')
  })

  test('listen keeps a request on one line, in colour, and ends with 0 on Ctrl-C', async () => {
    const { screen, ended, type } = runOnTerminal(['listen', '--port', '0', '--secret', 'k'])
    const [, url = ''] = await screen.matching(/(http:\/\/127\.0\.0\.1:\d+)/)
    const event = 'Order Completed '.repeat(9)
    await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ type: 'track', userId: 'u', event }),
    })
    await screen.matching(/The request has no X-Signature header/)
    type(controlC)
    expect(await ended).toBe(0)
    // The line of the keys is erased by a carriage return alone.
    const lines = stripVTControlCharacters(screen.text).split(/\r\n?/)
    const [line = ''] = lines.filter((text) => text.startsWith('#1'))
    expect(line).toMatch(/^#1 {4}TRACK {6}u {7}“Order .*… {2}✖ {2}200$/)
    expect(line.length).toBeLessThanOrEqual(columns)
    expect(screen.text).toContain('\u001b[1mTRACK')
    expect(lines.at(-2)).toMatch(/^1 webhook, 1 without one in /)
  })
})
