import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listenScreen, type KeyTargets } from '../../../../src/cli/listening/keys/listen-keys.ts'
import type { Io } from '../../../../src/cli/io.ts'
import type { Terminal, TerminalListeners } from '../../../../src/cli/terminal/process-terminal.ts'
import { parseMatch } from '../../../../src/match/index.ts'
import { signBody } from '../../../../src/webhook/index.ts'
import { startReceiver } from '../../../../src/testing/index.ts'
import { CapturedStream } from '../../../support/io.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import type { ReceivedEvent } from '../../../../src/receiver/index.ts'
import { receivedEvent } from './events.ts'

/** A terminal without a window. A call of `press` presses a key. */
class FakeTerminal implements Terminal {
  readonly rows = 3
  readonly requested: string[] = []
  press: (text: string) => void = () => undefined
  isOpen = false

  open(listeners: TerminalListeners): () => void {
    this.isOpen = true
    this.press = (text) => listeners.input(text)
    listeners.entered()
    return () => {
      this.isOpen = false
      listeners.leaving()
    }
  }

  interrupt(): void {
    this.requested.push('interrupt')
  }

  suspend(): void {
    this.requested.push('suspend')
  }

  lend(work: () => Promise<void>): Promise<void> {
    return work()
  }
}

const erase = '\r\u001b[J'
const ping = receivedEvent(1, { type: 'track', userId: 'u_1', event: 'Ping' })
const page = receivedEvent(2, { type: 'page', userId: 'u_1', properties: {} })
const plain = { save: undefined, input: true, json: false, quiet: false, color: false }

function onScreen(changes: Partial<Parameters<typeof listenScreen>[0]> = {}, columns = 80) {
  const terminal = new FakeTerminal()
  const stream = new CapturedStream({ isTTY: true, columns })
  const controller = new AbortController()
  const { signal } = controller
  const io: Io = {
    stdin: process.stdin,
    stdout: stream,
    stderr: stream,
    env: {},
    stop: signal,
    interrupted: signal,
    terminal,
  }
  const screen = listenScreen({ ...plain, ...changes }, io)
  const failures: unknown[] = []
  const shown: number[] = []
  const events: ReceivedEvent[] = []
  const receiver = { respondNext: (failure: unknown) => void failures.push(failure), events }
  const arrive = (event: ReceivedEvent): void => {
    events.push(event)
    screen.arrive(event, () => shown.push(event.seq))
  }
  const open = (resend?: KeyTargets['resend'], url = 'http://127.0.0.1:4100'): void => {
    const openPage = (): Promise<string> => Promise.resolve('Opening the page')
    screen.open({ receiver, url, secret: undefined, resend, openPage })
    stream.text = ''
  }
  const stop = (): void => controller.abort('SIGTERM')
  return { screen, terminal, stream, failures, open, stop, arrive, shown }
}

describe('keys of listen', () => {
  test('output appears above the line, and so do messages of keys', () => {
    const { screen, terminal, stream, open, arrive, shown } = onScreen()
    open()
    screen.io.stdout.write('event\n')
    expect(stream.text).toBe(`${erase}event\n`)
    expect(screen.io.stdout).toMatchObject({ isTTY: true, columns: 80 })
    terminal.press('p')
    expect(stream.text).toMatch(
      /Paused: .*\npaused, 0 new · h help · q quit · 0 received · f fail next$/,
    )
    arrive(ping)
    expect(shown).toEqual([])
    terminal.press('p')
    expect(stream.text).toContain('Resumed: 1 request arrived.')
    expect(shown).toEqual([1])
    arrive(page)
    expect(shown).toEqual([1, 2])
  })

  test('a long pause keeps the newest thousand requests', () => {
    const { terminal, stream, open, arrive, shown } = onScreen()
    open()
    terminal.press('p')
    for (let seq = 1; seq <= 1_002; seq++) arrive({ ...ping, seq })
    terminal.press('p')
    expect(stream.text).toContain(
      '2 requests are not shown: more than 1,000 arrived during the pause.',
    )
    expect([shown.length, shown[0], shown.at(-1)]).toEqual([1_000, 3, 1_002])
  })

  test('y prints a command that sends the same bytes and headers', () => {
    const { terminal, stream, open, arrive } = onScreen()
    open()
    const headers = { host: 'shop.example.com', 'x-note': "it's", 'x-empty': '' }
    arrive(receivedEvent(1, { type: 'track', event: "D'oh" }, { headers, path: '/in?a=1' }))
    terminal.press('y')
    expect(stream.text).toContain(
      String.raw`curl -g -i -X POST 'http://127.0.0.1:4100/in?a=1' -H 'x-note: it'\''s' -H 'x-empty;' ` +
        String.raw`--data-raw '{"type":"track","event":"D'\''oh"}'`,
    )
  })

  test('y prints no control characters of a request', () => {
    const { terminal, stream, open, arrive } = onScreen()
    open()
    const headers = { 'x-note': '50% \u00c2\u009b31m\u001b]52;' }
    arrive(receivedEvent(1, { type: 'track', event: 'a\u202e\u009bm' }, { headers }))
    terminal.press('y')
    const text = stream.text.replaceAll(erase, '')
    expect(text).toContain(String.raw`-H "$(printf -- 'x-note: 50\045 \302\23331m\033]52;')"`)
    expect(text).toMatch(/echo [\w+/=]+ \| base64 -d \| curl .* --data-binary @-/)
    expect(text).not.toMatch(/[\u001b\u0080-\u009f\u202e]/)
  })

  test('enter shows the last request in full, without control characters', () => {
    const { arrive, terminal, stream, open } = onScreen()
    open()
    const body = { type: 'track', event: 'x\u202ey\u001b[2Jz' } as const
    const changes = {
      path: '/\u001b[2J',
      headers: { 'x-note': 'a\u202eb\u001b]0;title\u0007c' },
      reason: 'because',
      status: null,
      injected: 'reset',
    }
    arrive(receivedEvent(1, body, changes))
    terminal.press('\r')
    const text = stream.text.replaceAll(erase, '')
    expect(text).toMatch(
      /^#1 {2}POST \/\n[\d:.]+ {2}no answer in 3 ms \(injected reset\), 42 bytes, signature unchecked\nbecause\nx-note: abc\n\n\{\n/,
    )
    expect(text).toContain('"event": "xy\\u001b[2Jz"')
    expect(text).not.toMatch(/[\u001b\u202e]/)
  })

  test('f makes the next answer fail', () => {
    const { terminal, stream, failures, open } = onScreen()
    open()
    terminal.press('f5')
    terminal.press('ft')
    expect(failures).toEqual([503, 'hang'])
    expect(stream.text).toMatch(/The next webhook gets 503\.[^]*The next webhook times out\./)
  })

  test('r resends one request after another, and reports the results', async () => {
    const { arrive, terminal, stream, open } = onScreen()
    const resent: number[] = []
    open(async ({ seq }) => {
      await Promise.resolve()
      resent.push(seq)
      if (resent.length === 2) throw new Error('it broke')
      return 'example.com answered 200'
    })
    arrive(ping)
    terminal.press('rr')
    await stream.matching(/Resent #1: example\.com answered 200\n[^]*it broke\n/)
    expect(resent).toEqual([1, 1])
  })

  test('d says which fields it does not compare', () => {
    const { arrive, terminal, stream, open } = onScreen()
    open()
    const body = { type: 'track', userId: 'u_1', event: 'Ping' } as const
    arrive(receivedEvent(1, { ...body, messageId: 'm_1' }))
    arrive(receivedEvent(2, { ...body, messageId: 'm_2' }))
    arrive(receivedEvent(3, { ...body, messageId: 'm_3', event: 'Pong' }))
    terminal.press('2d1\r')
    expect(stream.text).toContain(
      '#1 → #2  apart from messageId and timestamp, the payloads are equal\n',
    )
    terminal.press('3d1\r')
    expect(stream.text).toContain(
      '#1 → #3  apart from messageId and timestamp\n  event  "Ping" → "Pong"\n',
    )
  })

  test('without a target, r sends the same bytes and headers to the receiver itself', async () => {
    await using receiver = await startReceiver()
    const { arrive, terminal, stream, open } = onScreen()
    open(undefined, receiver.url)
    const body = { type: 'track', userId: 'u_1', event: 'Ping' } as const
    const signature = signBody(JSON.stringify(body), receiver.secret)
    arrive(receivedEvent(1, body, { headers: { 'x-signature': signature }, path: '/in?a=1' }))
    terminal.press('r')
    await stream.matching(/Resent #1 to this receiver: answered 200\.\n/)
    expect(receiver.events).toMatchObject([{ path: '/in?a=1', signature: 'valid' }])
  })

  test('messages of keys break between words in a narrow terminal', () => {
    const { terminal, stream, open } = onScreen({}, 60)
    open()
    for (const key of 'hp') terminal.press(key)
    const lines = stream.text.split(/\n|\r\u001b\[J/)
    expect(lines.filter((line) => line.length > 60)).toEqual([])
    expect(lines).toContain('  q          quit, like Ctrl-C; Ctrl-C again quits at once')
    expect(lines).toContain('to show them.')
  })

  test('the terminal handles Ctrl-C, q and Ctrl-Z', () => {
    const { terminal, open } = onScreen()
    open()
    terminal.press('\u001aq\u0003')
    expect(terminal.requested).toEqual(['suspend', 'interrupt', 'interrupt'])
  })

  test('c scrolls the screen', () => {
    const { terminal, stream, open } = onScreen()
    open()
    terminal.press('c')
    expect(stream.text).toContain('\n\n\n\u001b[H\u001b[J')
  })

  test('a signal shows that listen ends, and the end restores the terminal', async () => {
    const { screen, terminal, stream, open, stop } = onScreen()
    open()
    stop()
    expect(stream.text).toBe(`${erase}Ending. Press Ctrl-C to quit at once`)
    await screen.close()
    expect(terminal.isOpen).toBe(false)
    expect(stream.text.endsWith(erase)).toBe(true)
    screen.io.stderr.write('summary\n')
    expect(stream.text.endsWith('summary\n')).toBe(true)
  })
})

describe('saving', () => {
  test('appends the last request to a file, once', async () => {
    const folder = await temporaryFolder()
    const before = process.cwd()
    process.chdir(folder)
    onTestFinished(() => process.chdir(before))
    const { arrive, terminal, stream, open } = onScreen()
    open()
    arrive(ping)
    terminal.press('s')
    await stream.matching(
      /Saved #1 to \.\/evroute-capture\.ndjson\. To send it again:\n {2}evroute replay /,
    )
    terminal.press('s')
    await stream.matching(/#1 is already in \.\/evroute-capture\.ndjson\./)
    arrive(page)
    terminal.press('s')
    await stream.matching(/Saved #2/)
    const lines = (await readFile(join(folder, 'evroute-capture.ndjson'), 'utf8'))
      .trim()
      .split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { kind: 'event', seq: 1, rawBase64: ping.rawBody.toString('base64') },
      { kind: 'event', seq: 2 },
    ])
  })

  test('says that --save already has the request', async () => {
    const { arrive, terminal, stream, open } = onScreen({ save: 'all.ndjson' })
    open()
    arrive(ping)
    terminal.press('s')
    await stream.matching(/#1 is already in all\.ndjson, because --save keeps every request\./)
  })
})

describe('without keys, output is written unchanged', () => {
  test.each([{ input: false }, { json: true }, { quiet: true }])('%j', async (changes) => {
    const { screen, shown, arrive, terminal, stream, open } = onScreen({
      filter: parseMatch('type:page'),
      ...changes,
    })
    open()
    expect(terminal.isOpen).toBe(false)
    screen.io.stdout.write('event\n')
    arrive(ping)
    arrive(page)
    expect(shown).toEqual([2])
    await screen.close()
    expect(stream.text).toBe('event\n')
  })
})
