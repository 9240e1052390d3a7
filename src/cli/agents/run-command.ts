import { isJsonObject } from '../../model/index.ts'
import { systemClock } from '../../runtime/index.ts'
import type { RunCommand } from '../command.ts'
import type { Io, OutputStream } from '../io.ts'
import { BoundedRecords, cutText, type AgentRecord } from './bounded-records.ts'

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

/** Runs commands with `--json`, and keeps their records. */
export class CommandRunner {
  readonly #io: Io
  readonly #run: RunCommand

  constructor(io: Io, run: RunCommand) {
    this.#io = io
    this.#run = run
  }

  /** Runs a command until its end, the end of its time, or until the agent gives up. */
  async run({ argv, rows = [] }: AgentCommand, signal: AbortSignal): Promise<CommandResult> {
    const records = new BoundedRecords()
    let messages = ''
    const interruption = new AbortController()
    const interrupt = (): void => interruption.abort('SIGINT')
    signal.addEventListener('abort', interrupt)
    const timer = systemClock.schedule(commandMsMax, interrupt)
    try {
      const exitCode = await this.#run(argv, {
        stdin: linesOf(rows),
        stdout: lineStream((line) => records.add(recordOf(line))),
        stderr: lineStream((line) => (messages = cutText(`${messages}${line}\n`))),
        env: this.#io.env,
        stop: AbortSignal.any([this.#io.stop, interruption.signal]),
        interrupted: AbortSignal.any([this.#io.interrupted, interruption.signal]),
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
