import { isJsonObject } from '../../model/index.ts'
import { systemClock } from '../../runtime/index.ts'
import type { CommandContext } from '../command.ts'
import type { OutputStream } from '../io.ts'

/** A record for an agent. Others wrote its texts. */
export type AgentRecord = Readonly<Record<string, unknown>>

/** Maximum length of a field as JSON, and of all records of one result together. */
const fieldCharactersMax = 8_000
const resultCharactersMax = 64_000

/** The records of one result, within what an agent can read at once. */
export class BoundedRecords {
  readonly #records: AgentRecord[] = []
  #charactersLeft = resultCharactersMax
  #omitted = 0

  /** Adds a record. Cuts long fields. Omits it if the result is full, unless it is a summary. */
  add(record: AgentRecord): void {
    const cut = Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, cutField(value)]),
    )
    this.#charactersLeft -= JSON.stringify(cut).length
    if (this.#charactersLeft >= 0 || record['kind'] === 'summary') this.#records.push(cut)
    else this.#omitted += 1
  }

  /** The records so far, and how many more there were. */
  get result(): { readonly records: readonly AgentRecord[]; readonly omitted: number } {
    return { records: this.#records, omitted: this.#omitted }
  }
}

/** Returns the beginning of a long value, and its whole length. */
function cutField(value: unknown): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined)
  if (text === undefined || text.length <= fieldCharactersMax) return value
  return { cut: cutText(text), characters: text.length }
}

function cutText(text: string): string {
  return text.slice(0, fieldCharactersMax)
}

/** How long a command may take. Clients give up after a minute. */
const commandMsMax = 50_000

/** The result of a command. */
export interface CommandResult {
  readonly exitCode: number
  /** Texts that others wrote. */
  readonly untrusted: {
    readonly records: readonly AgentRecord[]
    /** How many records did not fit. */
    readonly omitted: number
    /** What the command says to people, cut if it is long. */
    readonly messages: string
  }
}

/** A command for an agent. */
export interface AgentCommand {
  readonly argv: readonly string[]
  /** Rows for stdin. */
  readonly rows?: readonly object[]
}

/** Runs a command until its end, the end of its time, or until the agent gives up. */
export type RunForAgent = (command: AgentCommand, signal: AbortSignal) => Promise<CommandResult>

/** Runs commands with `--json`, and keeps their records. */
export function runForAgent({ io, run }: Pick<CommandContext, 'io' | 'run'>): RunForAgent {
  return async ({ argv, rows = [] }, signal) => {
    const records = new BoundedRecords()
    let messages = ''
    const interruption = new AbortController()
    const interrupt = (): void => interruption.abort('SIGINT')
    signal.addEventListener('abort', interrupt)
    const timer = systemClock.schedule(commandMsMax, interrupt)
    try {
      const exitCode = await run(argv, {
        stdin: linesOf(rows),
        stdout: lineStream((line) => records.add(recordOf(line))),
        stderr: lineStream((line) => (messages = cutText(`${messages}${line}\n`))),
        env: io.env,
        stop: AbortSignal.any([io.stop, interruption.signal]),
        interrupted: AbortSignal.any([io.interrupted, interruption.signal]),
      })
      return { exitCode, untrusted: { ...records.result, messages } }
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', interrupt)
    }
  }
}

/** Writes the flags of a command. A value never becomes a flag, because it follows an equals sign. */
export function flagsOf(
  values: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((each) => `--${name}=${each}`),
  )
}

function lineStream(write: (line: string) => void): OutputStream {
  let rest = ''
  return {
    write: (text) => {
      const lines = `${rest}${text}`.split('\n')
      rest = lines.pop() ?? ''
      lines.forEach(write)
      return true
    },
    once: () => undefined,
  }
}

function recordOf(line: string): AgentRecord {
  const value: unknown = JSON.parse(line)
  return isJsonObject(value) ? value : { value }
}

async function* linesOf(rows: readonly object[]): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join('')))
}
