import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { binaryPath } from '../support/binary.ts'
import { TestEndpoint } from '../support/endpoint.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { onTerminal } from './on-terminal.ts'

const controlC = '\u0003'
const hint = /h help · q quit · 0 received/

/** Runs a shell command on its own terminal. */
async function shellOnTerminal(command: string, env: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryFolder()
  const options = { cwd: folder, cols: 100, rows: 24 }
  const shellEnv = { NO_COLOR: '1', NODE: process.execPath, ...env }
  return { folder, ...onTerminal('/bin/sh', ['-c', command], { ...options, env: shellEnv }) }
}

/** Starts `listen` on a terminal, and waits until it reads keys. */
async function listening(flags = '', { wrap = (command: string) => command, env = {} } = {}) {
  const command = `"$NODE" "${binaryPath}" listen --port 0 ${flags}`
  const { folder, screen, ended, terminal } = await shellOnTerminal(wrap(command), env)
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

/** Makes a command write the settings of the terminal to files, before it starts and after it ends. */
function betweenSettings(command: string): string {
  return `stty -a > before; ${command}; code=$?; stty -a > after; exit $code`
}

async function expectSettingsRestored(folder: string): Promise<void> {
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

  test('are read once a background job comes to the foreground', async () => {
    const command = `"$NODE" "${binaryPath}" listen --port 0`
    const { screen, ended, terminal } = await shellOnTerminal(`exec bash --norc -i`)
    terminal.write(`${command} &\n`)
    const [, url = ''] = await screen.matching(/Listening {2}(http\S+)\r/)
    // Once it shows a request, it has tried to read keys in the background.
    await fetch(url, { method: 'POST', body: JSON.stringify(track('Ordered')) })
    await screen.matching(/#1 /)
    terminal.write('fg\n')
    await screen.matching(/h help/)
    terminal.write('q')
    await screen.matching(/1 webhook in /)
    terminal.write('exit\n')
    expect(await ended).toBe(0)
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
    const curl = new RegExp(`curl -g -i -X POST '${url}/' [^]*--data-raw '\\{`)
    await press('y', curl)
    expect(await press('2\r', /#2 {2}POST/)).toContain('POST /')
    expect(await press('d\r', /#1 → #2/)).toMatch(/event {2}"First" → "Second"/)
    await press('q', /2 webhooks in /)
  })

  test('is edited in $EDITOR, signed again and sent to listen', async () => {
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
  test('fits into a window that becomes narrow', async () => {
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

  test('shows no control characters of a payload', async () => {
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

  test('on a dumb terminal or with --no-input, consists of plain lines without keys', async () => {
    for (const [flags, env] of [
      ['', { TERM: 'dumb' }],
      ['--no-input', {}],
    ] as const) {
      const command = `"$NODE" "${binaryPath}" listen --port 0 --count 1 ${flags}`
      const { screen, ended, terminal } = await shellOnTerminal(command, env)
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

describe('the settings of the terminal are restored', () => {
  test.each([
    { way: 'q', keys: 'q', code: 0 },
    { way: 'Ctrl-C', keys: controlC, code: 0 },
    { way: 'Ctrl-C while a filter is typed', keys: `/type${controlC}`, code: 0 },
  ])('after $way', async ({ keys, code }) => {
    const { folder, ended, press } = await listening('', { wrap: betweenSettings })
    await press(keys, /0 webhooks in /)
    expect(await ended).toBe(code)
    await expectSettingsRestored(folder)
  })

  test('at once after a second Ctrl-C', async () => {
    // The program keeps the command from ending.
    const { folder, screen, ended, press, post } = await listening('--on-event sleep 60', {
      wrap: betweenSettings,
    })
    await post(track('Ordered'))
    await screen.matching(/1 received/)
    await press(`${controlC}${controlC}`, /Ending/)
    expect(await ended).toBe(130)
    await expectSettingsRestored(folder)
  })

  test.each([
    { event: 'SIGTERM', signal: 'SIGTERM', code: 0 },
    { event: 'SIGINT', signal: 'SIGINT', code: 0 },
    { event: 'SIGHUP', signal: 'SIGHUP', code: 129 },
    { event: 'an unexpected error', signal: 'SIGUSR2', code: 1 },
  ])('after $event', async ({ signal, code }) => {
    const wrap = (command: string): string =>
      betweenSettings(`sh -c 'echo $$ > pid; exec ${command}'`)
    const thrower = '--import=data:text/javascript,process.on(`SIGUSR2`,()=>{throw`unexpected`})'
    const { folder, screen, ended } = await listening('', { wrap, env: { NODE_OPTIONS: thrower } })
    process.kill(Number(await readFile(join(folder, 'pid'), 'utf8')), signal)
    expect(await ended).toBe(code)
    await expectSettingsRestored(folder)
    // The bottom line is gone from the screen.
    const lines = screen.text.split('\r\n').map((line) => line.replace(/^.*\r\u001b\[J/, ''))
    expect(lines.filter((line) => line.includes('h help'))).toEqual([])
  })

  test('after a Ctrl-Z without a shell that could continue it, and keys are read again', async () => {
    const { folder, ended, press } = await listening('', { wrap: betweenSettings })
    await press('\u001a', hint)
    await press('h', /quits at once/)
    await press('q', /0 webhooks in /)
    expect(await ended).toBe(0)
    await expectSettingsRestored(folder)
  })
})
