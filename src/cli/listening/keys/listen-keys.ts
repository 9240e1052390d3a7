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

/** What the keys of `listen` are made of. */
export interface ListenKeysParts {
  /** What `listen` writes to, and the signal that ends it. */
  readonly io: Io
  /** Where keys are pressed. */
  readonly terminal: Terminal
  /** How text beside the data is set apart. */
  readonly style: Style
  /** What is shown at first; undefined for all. */
  readonly filter: Match | undefined
  /** The file that every request is saved to anyway. */
  readonly save: string | undefined
}

/** What keys act on. */
export interface KeyTargets {
  /** Whose next answer can fail. */
  readonly receiver: Pick<Receiver, 'respondNext'>
  /** Sends a request to its target again and says how that went; undefined where there is none. */
  readonly resend: ((event: ReceivedEvent) => Promise<string>) | undefined
  /** Opens the page in a browser and says how that went. */
  readonly openPage: () => Promise<string>
}

/** Where a request is saved when nobody named a file. */
const captureFile = './evroute-capture.ndjson'

/** The keys of `listen` on a terminal, with the line at the bottom that tells how things stand. */
export class ListenKeys {
  /** Like the one that it was made of, but what is written goes above the bottom line. */
  readonly io: Io
  readonly #parts: ListenKeysParts
  readonly #line: BottomLine
  #state: KeysState
  #targets: KeyTargets | undefined
  #savedSeq = 0
  /** What keys have started, one after the other. */
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

  /** Reads keys from now on, until {@link close}. */
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

  /** Takes in a request; tells whether it is to be shown. */
  arrive(event: ReceivedEvent): boolean {
    const shown = isShown(this.#state, event)
    this.#state = afterArrival(this.#state, event)
    this.#line.changed()
    return shown
  }

  /** Gives the terminal back, once what keys have started has ended. */
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
