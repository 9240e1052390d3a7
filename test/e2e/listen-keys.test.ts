import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { spawn } from '@lydell/node-pty'
import { describe, expect, onTestFinished, test } from 'vitest'
import { binaryPath } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { CapturedStream } from '../support/io.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const controlC = '\u0003'
const hint = /h help · q quit · 0 received/

/** A real shell command on a terminal of its own. */
async function onTerminal(shellCommand: string, env: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder()
  const screen = new CapturedStream()
  const { PATH = '' } = process.env
  const terminal = spawn('/bin/sh', ['-c', shellCommand], {
    cwd: folder,
    cols: 100,
    rows: 24,
    env: { PATH, TERM: 'xterm-256color', NO_COLOR: '1', NODE: process.execPath, ...env },
  })
  terminal.onData((text) => screen.write(text))
  const ended = new Promise<number>((resolve) =>
    terminal.onExit(({ exitCode }) => resolve(exitCode)),
  )
  onTestFinished(() => terminal.kill('SIGKILL'))
  return { folder, screen, ended, terminal }
}

/** `listen` on a terminal, once it reads keys. */
async function listening(flags = '', { wrap = (command: string) => command, env = {} } = {}) {
  const command = `"$NODE" "${binaryPath}" listen --port 0 ${flags}`
  const { folder, screen, ended, terminal } = await onTerminal(wrap(command), env)
  const [, url = ''] = await screen.matching(/(http:\/\/127\.0\.0\.1:\d+)/)
  await screen.matching(hint)
  /** Presses keys and resolves with the screen once it shows the expected text. */
  const press = async (keys: string, shows: RegExp): Promise<string> => {
    screen.text = ''
    terminal.write(keys)
    await screen.matching(shows)
    return stripVTControlCharacters(screen.text)
  }
  const post = async (body: object): Promise<number> => {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
    await response.text()
    return response.status
  }
  return { folder, screen, ended, terminal, url, press, post }
}

/** Tells the settings of the terminal before a command and after it. */
function betweenSettings(command: string): string {
  return `stty -a > before; ${command}; code=$?; stty -a > after; exit $code`
}

async function settingsAreBack(folder: string): Promise<void> {
  const before = await readFile(join(folder, 'before'), 'utf8')
  expect(before).toContain('icanon')
  expect(await readFile(join(folder, 'after'), 'utf8')).toBe(before)
}

const track = (event: string): object => ({ type: 'track', userId: 'u_1', event })

describe('the keys of listen', () => {
  test('show, pause, filter, save, clear and quit', async () => {
    const { folder, screen, ended, press, post } = await listening('--secret not-a-real-secret')
    expect(await press('h', /quits at once/)).toMatch(/^ {2}enter {6}show it in full\r$/m)
    await post(track('Ordered'))
    await screen.matching(/1 received/)
    expect(await press('\r', /signature missing[^]*\}/)).toMatch(/"event": "Ordered"/)

    await press('p', /Paused/)
    await post(track('Unseen'))
    await screen.matching(/paused, 1 new/)
    expect(screen.text).not.toContain('Unseen')
    expect(await press('p', /2 received/)).toMatch(/Resumed: 1 request arrived\.[^]*#2 .*Unseen/)

    expect(await press('/type:trick\r', /\^{5}/)).toMatch(/ {2}type:trick\r\n {7}\^{5}/)
    await press('\u0015type:page\r', /Only requests that match type:page are shown: \d+ so far/)
    await post(track('Filtered'))
    await post({ type: 'page', userId: 'u_1', properties: { path: '/pricing' } })
    await screen.matching(/#4 .*\/pricing/)
    expect(screen.text).not.toContain('Filtered')
    await press('/abc', /\/ type:pageabc$/)
    await press('\u001b', /\/ type:page · h help/)

    await press('s', /Saved #4 to \.\/evroute-capture\.ndjson/)
    const saved = await readFile(join(folder, 'evroute-capture.ndjson'), 'utf8')
    expect(JSON.parse(saved)).toMatchObject({ seq: 4, type: 'page' })
    await press('c', /(\r\n){24}\u001b\[H\u001b\[J/)
    await press('q', /4 webhooks, 4 without one in /)
    expect(await ended).toBe(0)
  })

  test.skipIf(process.platform !== 'linux')('open the page in a browser', async () => {
    const programs = await temporaryFolder()
    const opener = join(programs, 'xdg-open')
    await writeFile(opener, `#!/bin/sh\necho "$1" > "${programs}/opened"\n`, { mode: 0o755 })
    const env = { PATH: `${programs}:${process.env['PATH'] ?? ''}` }
    const { url, press } = await listening('', { env })
    await press('o', /Opening http/)
    await expect
      .poll(() => readFile(join(programs, 'opened'), 'utf8').catch(() => ''))
      .toBe(`${url}/_evroute/\n`)
    await press('q', /0 webhooks in /)
  })

  test('make the next webhook fail, once', async () => {
    const { screen, press, post } = await listening()
    await press('f5', /The next webhook gets 503\./)
    expect(await post(track('First'))).toBe(503)
    expect(await post(track('Second'))).toBe(200)
    await press('ft', /The next webhook times out\./)
    const third = expect(post(track('Third'))).rejects.toThrow()
    await screen.matching(/“Third”/)
    expect(await post(track('Fourth'))).toBe(200)
    await press('q', /4 webhooks in /)
    await third
  })

  test('send the last request again', async () => {
    const endpoint = await TestEndpoint.start()
    const { press, post } = await listening(`--forward-to ${endpoint.url}`)
    await post(track('Ordered'))
    await press('r', /Resent #1: .* answered 200/)
    expect(endpoint.bodies).toEqual([track('Ordered'), track('Ordered')])
  })
})

describe('an earlier request', () => {
  test('is picked by arrows or number, shown, compared and copied as curl', async () => {
    const { url, screen, press, post } = await listening()
    await post(track('First'))
    await post(track('Second'))
    await screen.matching(/2 received/)
    await press('\u001b[A\u001b[A', /▸ #1 track u_1 First/)
    expect(await press('\r', /\}/)).toMatch(/#1 {2}POST \/[^]*"event": "First"/)
    const curl = new RegExp(`curl -i -X POST ${url}/ [^]*--data-raw '\\{`)
    await press('y', curl)
    expect(await press('2\r', /#2 {2}POST/)).toContain('POST /')
    expect(await press('d\r', /#1 → #2/)).toMatch(/event {2}"First" → "Second"/)
    await press('q', /2 webhooks in /)
  })

  test('is edited in $EDITOR, signed again and sent here', async () => {
    const programs = await temporaryFolder()
    const editor = join(programs, 'editor')
    await writeFile(editor, `#!/bin/sh\nsed -i.bak s/First/Edited/ "$1"\n`, { mode: 0o755 })
    const env = { EDITOR: editor }
    const { screen, press, post } = await listening('--secret not-a-real-secret', { env })
    await post(track('First'))
    await screen.matching(/1 received/)
    const shown = await press('e', /Sent an edited #1: answered 200/)
    expect(shown).toMatch(/#2 .*“Edited”.*✔ signed/)
    await press('q', /2 webhooks, 1 with a valid signature, 1 without one in /)
  })
})

describe('the screen of listen', () => {
  test('keeps to a window that becomes narrow', async () => {
    const { screen, terminal, post } = await listening()
    screen.text = ''
    terminal.resize(40, 24)
    await screen.matching(/h help/)
    await post(track('Order Completed '.repeat(9)))
    await screen.matching(/1 received/)
    const lines = stripVTControlCharacters(screen.text).split(/\r\n|\r/)
    expect(lines.filter((line) => line.startsWith('#1'))).toEqual([
      '#1    TRACK      “Order Complet…  -  200',
    ])
    expect(lines.filter((line) => line.length > 40)).toEqual([])
  })

  test('nothing of a payload steers the terminal', async () => {
    const { screen, press, post } = await listening('-v')
    screen.text = ''
    const nasty = 'a\u001b]0;title\u0007b\u001b[2Jc\u202ed\u009b31me\r\n'
    await post({ ...track(nasty), userId: nasty, [nasty]: nasty })
    await screen.matching(/1 received/)
    const line = screen.text
    await press('\r', /received/)
    const shown = line + screen.text
    expect(shown).toContain('“abcde”')
    expect(shown.replaceAll('\r\n', '\n').replaceAll('\r\u001b[J', '')).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/,
    )
  })

  test('is plain lines without keys on a dumb terminal, and with --no-input', async () => {
    for (const [flags, env] of [
      ['', { TERM: 'dumb' }],
      ['--no-input', {}],
    ] as const) {
      const command = `"$NODE" "${binaryPath}" listen --port 0 --count 1 ${flags}`
      const { screen, ended, terminal } = await onTerminal(command, env)
      const [, url = ''] = await screen.matching(/(http:\/\/127\.0\.0\.1:\d+)/)
      terminal.write('q')
      const body = JSON.stringify(track('Ordered'))
      await (await fetch(url, { method: 'POST', body })).text()
      expect(await ended).toBe(0)
      expect(screen.text).toMatch(/#1 [^]*1 webhook in /)
      expect(screen.text).not.toMatch(/h help|\u001b/)
    }
  })
})

describe('the settings of the terminal come back', () => {
  test.each([
    { way: 'q', keys: 'q', code: 0 },
    { way: 'Ctrl-C', keys: controlC, code: 0 },
    { way: 'Ctrl-C while a filter is written', keys: `/type${controlC}`, code: 0 },
  ])('after $way', async ({ keys, code }) => {
    const { folder, ended, press } = await listening('', { wrap: betweenSettings })
    await press(keys, /0 webhooks in /)
    expect(await ended).toBe(code)
    await settingsAreBack(folder)
  })

  test('at once after a second Ctrl-C', async () => {
    // A program that goes on for longer keeps the command from ending.
    const { folder, screen, ended, press, post } = await listening('--on-event sleep 60', {
      wrap: betweenSettings,
    })
    await post(track('Ordered'))
    await screen.matching(/1 received/)
    await press(`${controlC}${controlC}`, /Ending/)
    expect(await ended).toBe(130)
    await settingsAreBack(folder)
  })

  test.each([
    { event: 'SIGTERM', signal: 'SIGTERM', code: 0 },
    { event: 'SIGINT', signal: 'SIGINT', code: 0 },
    { event: 'SIGHUP', signal: 'SIGHUP', code: 129 },
    { event: 'an error that nobody expected', signal: 'SIGUSR2', code: 1 },
  ])('after $event', async ({ signal, code }) => {
    const wrap = (command: string): string =>
      betweenSettings(`sh -c 'echo $$ > pid; exec ${command}'`)
    const thrower = '--import=data:text/javascript,process.on(`SIGUSR2`,()=>{throw`unexpected`})'
    const { folder, screen, ended } = await listening('', { wrap, env: { NODE_OPTIONS: thrower } })
    process.kill(Number(await readFile(join(folder, 'pid'), 'utf8')), signal)
    expect(await ended).toBe(code)
    await settingsAreBack(folder)
    // Nothing of the bottom line is left on the screen.
    const lines = screen.text.split('\r\n').map((line) => line.replace(/^.*\r\u001b\[J/, ''))
    expect(lines.filter((line) => line.includes('h help'))).toEqual([])
  })

  test('after a job in the background came to the foreground, and its keys are read', async () => {
    const command = `"$NODE" "${binaryPath}" listen --port 0`
    const { screen, ended, terminal } = await onTerminal(`exec bash --norc -i`)
    terminal.write(`${command} &\n`)
    const [, url = ''] = await screen.matching(/Listening {2}(http\S+)\r/)
    // It has looked for keys, in the background, once it shows a request.
    await fetch(url, { method: 'POST', body: JSON.stringify(track('Ordered')) })
    await screen.matching(/#1 /)
    terminal.write('fg\n')
    await screen.matching(/h help/)
    terminal.write('q')
    await screen.matching(/1 webhook in /)
    terminal.write('exit\n')
    expect(await ended).toBe(0)
  })

  test('after a Ctrl-Z without a shell to continue it, and reads keys again', async () => {
    const { folder, ended, press } = await listening('', { wrap: betweenSettings })
    await press('\u001a', hint)
    await press('h', /quits at once/)
    await press('q', /0 webhooks in /)
    expect(await ended).toBe(0)
    await settingsAreBack(folder)
  })
})
