import type { Match } from '../../../match/index.ts'
import { messageOf, plainText } from '../../../model/index.ts'
import type { ReceivedEvent, Receiver } from '../../../receiver/index.ts'
import { systemClock } from '../../../runtime/index.ts'
import type { Io } from '../../io.ts'
import type { Style } from '../../output/style.ts'
import { BottomLine } from '../../terminal/bottom-line.ts'
import { keysOf } from '../../terminal/key.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { Capture } from '../capture.ts'
import { eventDetails } from './event-details.ts'
import { keysLine } from './keys-line.ts'
import {
  afterArrival,
  initialKeysState,
  isShown,
  type KeyEffect,
  type KeysState,
  type NextFailure,
} from './keys-state.ts'
import { stepKeys } from './step-keys.ts'

/** The parts of {@link ListenKeys}. */
export interface ListenKeysParts {
  /** The streams of `listen`, and its stop signal. */
  readonly io: Io
  /** The terminal to read keys from. */
  readonly terminal: Terminal
  /** The style of text on stderr. */
  readonly style: Style
  /** The initial filter; undefined to show all requests. */
  readonly filter: Match | undefined
  /** The file of `--save`. */
  readonly save: string | undefined
}

/** The objects that keys act on. */
export interface KeyTargets {
  /** Can fail its next answer. */
  readonly receiver: Pick<Receiver, 'respondNext'>
  /** Forwards a request again and returns a message; undefined without a target. */
  readonly resend: ((event: ReceivedEvent) => Promise<string>) | undefined
  /** Opens the page in a browser and returns a message. */
  readonly openPage: () => Promise<string>
}

/** The default file for requests that the user saves. */
const captureFile = './evroute-capture.ndjson'

/** The keys of `listen` on a terminal, and the status line at the bottom. */
export class ListenKeys {
  /** Streams that write above the bottom line. */
  readonly io: Io
  readonly #parts: ListenKeysParts
  readonly #line: BottomLine
  #state: KeysState
  #targets: KeyTargets | undefined
  #savedSeq = 0
  /** The actions that keys have started, one after the other. */
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

  /** Reads keys until {@link close}. */
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

  /** Records a request. Returns whether to show it. */
  arrive(event: ReceivedEvent): boolean {
    const shown = isShown(this.#state, event)
    this.#state = afterArrival(this.#state, event)
    this.#line.changed()
    return shown
  }

  /** Gives the terminal back after the running actions have ended. */
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
    const { state, effects } = stepKeys(this.#state, keysOf(text))
    this.#state = state
    for (const effect of effects) this.#do(effect)
    this.#line.draw()
  }

  #do(effect: KeyEffect): void {
    const { terminal, style } = this.#parts
    switch (effect.kind) {
      case 'tell':
        this.#tell(effect.text)
        break
      case 'show':
        this.io.stderr.write(eventDetails(effect.event, style))
        break
      case 'resend':
        this.#start(() => this.#resend(effect.event))
        break
      case 'save':
        this.#start(() => this.#save(effect.event))
        break
      case 'fail_next':
        this.#failNext(effect.failure)
        break
      case 'clear':
        this.#line.clear(terminal.rows)
        break
      case 'interrupt':
        terminal.interrupt()
        break
      case 'open_page':
        this.#start(() => this.#targets?.openPage() ?? Promise.resolve(''))
        break
      case 'suspend':
        terminal.suspend()
        break
    }
  }

  #tell(text: string): void {
    this.io.stderr.write(`${this.#parts.style.faint(text)}\n`)
  }

  #start(work: () => Promise<string>): void {
    this.#work = this.#work
      .then(work)
      .catch(messageOf)
      .then((text) => this.#tell(text))
  }

  #failNext(failure: NextFailure): void {
    this.#targets?.receiver.respondNext(failure)
    this.#tell(
      failure === 'hang' ? 'The next webhook times out.' : `The next webhook gets ${failure}.`,
    )
  }

  async #resend(event: ReceivedEvent): Promise<string> {
    const resend = this.#targets?.resend
    if (resend === undefined) return 'There is no target to resend to: name one with --forward-to.'
    return `Resent #${event.seq}: ${await resend(event)}`
  }

  async #save(event: ReceivedEvent): Promise<string> {
    const { save } = this.#parts
    const { seq } = event
    if (save !== undefined) return `#${seq} is in ${plainText(save)}: --save keeps every request.`
    if (seq === this.#savedSeq) return `#${seq} is in ${captureFile} already.`
    const capture = await Capture.open(captureFile)
    await capture.append(event)
    await capture.close()
    this.#savedSeq = seq
    return `Saved #${seq} to ${captureFile}; \`evroute replay ${captureFile} --to <url>\` sends it again.`
  }
}
