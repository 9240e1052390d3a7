import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Match } from '../../../match/index.ts'
import { messageOf, plainText } from '../../../model/index.ts'
import {
  repeated,
  sendRequest,
  type ReceivedEvent,
  type Receiver,
} from '../../../receiver/index.ts'
import { systemClock } from '../../../runtime/index.ts'
import type { ListenValues } from '../../commands/listen.ts'
import type { Io } from '../../io.ts'
import { programName } from '../../output/command-line.ts'
import { countOf, formatCount } from '../../output/numbers.ts'
import { styleOf, type Style } from '../../output/style.ts'
import { wrapText } from '../../output/wrap.ts'
import { BottomLine } from '../../terminal/bottom-line.ts'
import { keysOf } from '../../terminal/key.ts'
import type { Terminal } from '../../terminal/process-terminal.ts'
import { openCapture } from '../capture.ts'
import { comparisonText, curlText, eventDetails } from './event-details.ts'
import {
  afterArrival,
  displayOf,
  initialKeysState,
  keysLine,
  stepKeys,
  type KeyEffect,
  type KeysState,
  type NextFailure,
} from './step-keys.ts'

interface ListenScreenOptions extends Pick<ListenValues, 'input' | 'json' | 'quiet' | 'color'> {
  readonly filter?: Match | undefined
  readonly save?: string | undefined
}

/** The output of `listen`. It decides which requests are shown, and when. */
export type ListenScreen = Pick<ListenKeys, 'io' | 'open' | 'arrive' | 'close'>

/** Makes a screen with keys on an interactive terminal; otherwise, one with plain streams. */
export function listenScreen(options: ListenScreenOptions, io: Io): ListenScreen {
  const { filter, input, json, quiet } = options
  const { terminal } = io
  if (terminal === undefined || !input || json || quiet) {
    return {
      io,
      open: () => undefined,
      arrive: (event, show) => {
        if (filter?.test(event) !== false) show()
      },
      close: () => Promise.resolve(),
    }
  }
  return new ListenKeys({ ...options, io, terminal, style: styleOf(io, 'stderr', options.color) })
}

interface ListenKeysParts extends ListenScreenOptions {
  readonly io: Io
  readonly terminal: Terminal
  readonly style: Style
}

/** The objects that keys act on. */
export interface KeyTargets {
  readonly receiver: Pick<Receiver, 'respondNext' | 'events'>
  readonly url: string
  /** The secret for signing edited requests; undefined to leave them unsigned. */
  readonly secret: string | undefined
  /** Forwards a request again, and returns the result as text. If undefined, requests go to the receiver again. */
  readonly resend: ((event: ReceivedEvent) => Promise<string>) | undefined
  readonly openPage: () => Promise<string>
}

const heldMax = 1_000

const captureFile = './evroute-capture.ndjson'

class ListenKeys {
  /** Streams that write above the bottom line. */
  readonly io: Io
  readonly #parts: ListenKeysParts
  readonly #line: BottomLine
  #state: KeysState
  #targets: KeyTargets | undefined
  #savedSeq = 0
  /** Functions that show the requests held by a pause, oldest first. */
  #held: (() => void)[] = []
  #heldMissing = 0
  /** Resolves when the last started action has ended. Actions run one after another. */
  #work: Promise<void> = Promise.resolve()
  #closeTerminal = (): void => undefined

  constructor(parts: ListenKeysParts) {
    const { io, style, filter } = parts
    this.#parts = parts
    this.#state = initialKeysState(filter)
    this.#line = new BottomLine({
      stream: io.stderr,
      clock: systemClock,
      text: (columns) => keysLine(this.#state, columns, style),
    })
    this.io = { ...io, stdout: this.#line.over(io.stdout), stderr: this.#line.over(io.stderr) }
  }

  open(targets: KeyTargets): void {
    this.#targets = targets
    this.#parts.io.stop.addEventListener('abort', this.#onStop, { once: true })
    this.#closeTerminal = this.#parts.terminal.open({
      input: (text) => this.#press(text),
      resized: () => this.#line.resized(),
      entered: () => this.#line.open(),
      leaving: () => this.#line.close(),
    })
  }

  /** Calls `show` for a new request: at once, when the user ends a pause, or never. */
  arrive(event: ReceivedEvent, show: () => void): void {
    const display = displayOf(this.#state, event)
    this.#state = afterArrival(this.#state, event)
    if (display === 'show') show()
    if (display === 'hold') this.#hold(show)
    this.#line.changed()
  }

  /** Releases the terminal once the running actions have ended. Later writes go directly to the streams. */
  async close(): Promise<void> {
    await this.#work
    this.#parts.io.stop.removeEventListener('abort', this.#onStop)
    this.#closeTerminal()
  }

  readonly #onStop = (): void => {
    this.#state = { ...this.#state, mode: { kind: 'ending' } }
    this.#line.draw()
  }

  #press(text: string): void {
    const events = this.#targets?.receiver.events ?? []
    const { state, effects } = stepKeys(this.#state, keysOf(text), events)
    this.#state = state
    for (const effect of effects) {
      const act = this.#actions[effect.kind] as (effect: KeyEffect) => void
      act(effect)
    }
    this.#line.draw()
  }

  readonly #actions: {
    readonly [Kind in KeyEffect['kind']]: (effect: Extract<KeyEffect, { kind: Kind }>) => void
  } = {
    tell: ({ text }) => this.#print(text),
    show: ({ event }) => this.io.stderr.write(eventDetails(event, this.#parts.style)),
    compare: ({ event, other }) =>
      this.io.stderr.write(comparisonText(event, other, this.#parts.style)),
    curl: ({ event }) => this.io.stderr.write(`${curlText(event, this.#targets?.url ?? '')}\n`),
    edit: ({ event }) => this.#start(() => this.#edit(event)),
    resend: ({ event }) => this.#start(() => this.#resend(event)),
    save: ({ event }) => this.#start(() => this.#save(event)),
    fail_next: ({ failure }) => this.#failNext(failure),
    clear: () => this.#line.clear(this.#parts.terminal.rows),
    show_held: () => this.#showHeld(),
    interrupt: () => this.#parts.terminal.interrupt(),
    open_page: () => this.#start(() => this.#targets?.openPage() ?? Promise.resolve('')),
    suspend: () => this.#parts.terminal.suspend(),
  }

  #hold(show: () => void): void {
    this.#held.push(show)
    if (this.#held.length <= heldMax) return
    this.#held.shift()
    this.#heldMissing++
  }

  #showHeld(): void {
    if (this.#heldMissing > 0) {
      this.#print(
        `${countOf(this.#heldMissing, 'request is', 'requests are')} not shown: more than ${formatCount(heldMax)} arrived during the pause.`,
      )
    }
    for (const show of this.#held.splice(0)) show()
    this.#heldMissing = 0
  }

  async #edit(event: ReceivedEvent): Promise<string> {
    const { terminal, io } = this.#parts
    const before = event.rawBody.toString('utf8')
    let after = before
    await terminal.lend(async () => {
      after = await editText(before, io.env)
    })
    if (after === before) return `#${event.seq} was not changed.`
    return `Sent an edited #${event.seq}: ${await this.#send(event, { body: after })}.`
  }

  /** Sends a request to the receiver again, signed anew if it was edited. Returns the answer as text. */
  async #send(event: ReceivedEvent, edit: { readonly body?: string }): Promise<string> {
    const { url = '', secret } = this.#targets ?? {}
    const { stop: signal } = this.#parts.io
    const { status, error } = await sendRequest(repeated(event, edit), { url, secret, signal })
    return error ?? `answered ${status ?? 'nothing'}`
  }

  #print(text: string): void {
    const { style, io } = this.#parts
    this.io.stderr.write(`${style.faint(wrapText(text, io.stderr.columns))}\n`)
  }

  #start(work: () => Promise<string>): void {
    this.#work = this.#work
      .then(work)
      .catch(messageOf)
      .then((text) => this.#print(text))
  }

  #failNext(failure: NextFailure): void {
    this.#targets?.receiver.respondNext(failure)
    this.#print(
      failure === 'hang' ? 'The next webhook times out.' : `The next webhook gets ${failure}.`,
    )
  }

  async #resend(event: ReceivedEvent): Promise<string> {
    const resend = this.#targets?.resend
    if (resend === undefined)
      return `Resent #${event.seq} to this receiver: ${await this.#send(event, {})}.`
    return `Resent #${event.seq}: ${await resend(event)}`
  }

  async #save(event: ReceivedEvent): Promise<string> {
    const { save } = this.#parts
    const { seq } = event
    if (save !== undefined)
      return `#${seq} is already in ${plainText(save)}, because --save keeps every request.`
    if (seq === this.#savedSeq) return `#${seq} is already in ${captureFile}.`
    const capture = await openCapture(captureFile)
    await capture.append(event)
    await capture.close()
    this.#savedSeq = seq
    const program = programName(this.#parts.io)
    return `Saved #${seq} to ${captureFile}. To send it again:\n  ${program} replay ${captureFile} --to ${this.#targets?.url ?? ''}`
  }
}

/** Returns a text after the user has edited it in $VISUAL or $EDITOR; unchanged if the editor fails. */
async function editText(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const editor = env['VISUAL'] || env['EDITOR'] || (process.platform === 'win32' ? 'notepad' : 'vi')
  const folder = await mkdtemp(join(tmpdir(), 'evroute-edit-'))
  const path = join(folder, 'body.json')
  try {
    await writeFile(path, text, { mode: 0o600 })
    // Use a shell, because the variable may contain arguments, as in `code --wait`.
    const child = spawn(`${editor} "${path}"`, { shell: true, stdio: 'inherit' })
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) return text
    const edited = await readFile(path, 'utf8')
    // Editors add a line break at the end, which the body didn't have.
    return text.endsWith('\n') ? edited : edited.replace(/\r?\n$/, '')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
