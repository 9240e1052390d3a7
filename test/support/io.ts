import { EventEmitter, once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { main } from '../../src/cli/index.ts'
import type { Io, OutputStream, StopReason } from '../../src/cli/io.ts'

/** One line of NDJSON, parsed. */
export type OutputRecord = Readonly<Record<string, unknown>>

/** The input, environment and terminal of a command. */
export interface RunSettings {
  /** The contents of stdin; empty by default. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array>
  /** Default false. */
  readonly stdinIsTerminal?: boolean
  /** All environment variables; none by default. */
  readonly env?: Io['env']
  /** Whether stdout and stderr are terminals; default false. */
  readonly isTTY?: boolean
  /** The width of stdout and stderr, in characters. */
  readonly columns?: number
}

/** The result of a command that ended. */
export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** The lines of stdout, parsed. The getter throws if stdout is not NDJSON. */
  readonly records: readonly OutputRecord[]
}

/** A stream that collects the text written to it. */
export class CapturedStream extends EventEmitter implements OutputStream {
  text = ''
  readonly isTTY: boolean
  readonly columns?: number

  constructor({ isTTY = false, columns }: Pick<RunSettings, 'isTTY' | 'columns'> = {}) {
    super()
    this.isTTY = isTTY
    if (columns !== undefined) this.columns = columns
  }

  write(text: string): boolean {
    this.text += text
    this.emit('written')
    return true
  }

  /** Waits until the text matches, and resolves with the first match. */
  async matching(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.text)
      if (match !== null) return match
      await new Promise((resolve) => super.once('written', resolve))
    }
  }

  /** Its lines, parsed. Throws if the text is not NDJSON. */
  get records(): readonly OutputRecord[] {
    return recordsIn(this.text)
  }

  /** Waits until there are `count` records of a kind, and resolves with the last of them. */
  async record(kind: string, count = 1): Promise<OutputRecord> {
    for (;;) {
      // The last line may be incomplete.
      const whole = this.text.slice(0, this.text.lastIndexOf('\n') + 1)
      const found = recordsIn(whole).filter((record) => record['kind'] === kind)[count - 1]
      if (found !== undefined) return found
      await new Promise((resolve) => super.once('written', resolve))
    }
  }
}

function recordsIn(text: string): readonly OutputRecord[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as OutputRecord)
}

/** A command that runs in the process of the test. */
export class RunningCommand {
  readonly stdout: CapturedStream
  readonly stderr: CapturedStream
  readonly ended: Promise<Finished>
  readonly #interruption = new AbortController()
  readonly #outputGone = new AbortController()
  readonly #hangUps = new EventEmitter()

  constructor(argv: readonly string[], settings: RunSettings = {}) {
    const stdout = (this.stdout = new CapturedStream(settings))
    const stderr = (this.stderr = new CapturedStream(settings))
    const stdin = inputOf(settings)
    const { env = {} } = settings
    const onHangUp = (listener: () => void): (() => void) => {
      this.#hangUps.on('SIGHUP', listener)
      return () => this.#hangUps.off('SIGHUP', listener)
    }
    const interrupted = this.#interruption.signal
    const stop = AbortSignal.any([interrupted, this.#outputGone.signal])
    const io = { stdin, stdout, stderr, env, stop, interrupted, onHangUp }
    this.ended = main(argv, io).then((code) => ({
      code,
      stdout: stdout.text,
      stderr: stderr.text,
      get records() {
        return stdout.records
      },
    }))
  }

  /** Simulates a SIGHUP, once the command listens for it. */
  async hangUp(): Promise<void> {
    if (this.#hangUps.listenerCount('SIGHUP') === 0) await once(this.#hangUps, 'newListener')
    await nextTurn()
    this.#hangUps.emit('SIGHUP')
  }

  /** Simulates a signal, or the loss of stdout. */
  stop(reason: StopReason = 'SIGINT'): void {
    const isSignal = reason === 'SIGINT' || reason === 'SIGTERM'
    const controller = isSignal ? this.#interruption : this.#outputGone
    controller.abort(reason)
  }
}

/** Starts a command in the process of the test. */
export function start(argv: readonly string[], settings: RunSettings = {}): RunningCommand {
  return new RunningCommand(argv, settings)
}

/** Runs a command in the process of the test until it ends. */
export function run(argv: readonly string[], settings: RunSettings = {}): Promise<Finished> {
  return start(argv, settings).ended
}

function inputOf({ stdin = '', stdinIsTerminal = false }: RunSettings): Io['stdin'] {
  const chunks =
    typeof stdin === 'string' || stdin instanceof Uint8Array ? oneChunk(Buffer.from(stdin)) : stdin
  return { [Symbol.asyncIterator]: () => chunks[Symbol.asyncIterator](), isTTY: stdinIsTerminal }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes)
}
