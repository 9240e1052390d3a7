import { Readable } from 'node:stream'
import { systemClock } from '../../runtime/index.ts'
import type { CommandContext } from '../command.ts'
import type { OutputStream } from '../io.ts'

/** A record for an agent. Its texts come from third parties, so they are untrusted. */
type AgentRecord = Readonly<Record<string, unknown>>

const fieldCharactersMax = 8_000
const resultCharactersMax = 64_000

/** The records of one result, limited to what an agent can read at once. */
export class BoundedRecords {
  readonly #records: AgentRecord[] = []
  #charactersLeft = resultCharactersMax
  #omitted = 0

  /** Adds a record and cuts its long fields. Once the result is too long, adds only summaries. */
  add(record: AgentRecord): void {
    const cut = Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, cutField(value)]),
    )
    this.#charactersLeft -= JSON.stringify(cut).length
    if (this.#charactersLeft >= 0 || record['kind'] === 'summary') this.#records.push(cut)
    else this.#omitted += 1
  }

  get result(): { readonly records: readonly AgentRecord[]; readonly omitted: number } {
    return { records: this.#records, omitted: this.#omitted }
  }
}

function cutField(value: unknown): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined)
  if (text === undefined || text.length <= fieldCharactersMax) return value
  return { cut: text.slice(0, fieldCharactersMax), characters: text.length }
}

/** How long a command may run. MCP clients give up after a minute. */
const commandMsMax = 50_000

/** Runs a command until it ends, its time is up, or the agent cancels it. */
export type RunForAgent = ReturnType<typeof runForAgent>

/** Returns a function that runs commands with `--json` and keeps their records. `rows` are written to stdin as NDJSON. */
export function runForAgent({ io, run }: Pick<CommandContext, 'io' | 'run'>) {
  return async (argv: readonly string[], signal: AbortSignal, rows: readonly object[] = []) => {
    const records = new BoundedRecords()
    const stdin = rows.map((row) => Buffer.from(`${JSON.stringify(row)}\n`))
    let messages = ''
    const interruption = new AbortController()
    const interrupt = (): void => interruption.abort('SIGINT')
    signal.addEventListener('abort', interrupt)
    const timer = systemClock.schedule(commandMsMax, interrupt)
    try {
      const exitCode = await run(argv, {
        stdin: Readable.from(stdin),
        stdout: lineStream((line) => records.add(JSON.parse(line) as AgentRecord)),
        stderr: lineStream((line) => {
          messages = `${messages}${line}\n`.slice(0, fieldCharactersMax)
        }),
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

/** Formats values as `--name=value`, so that a value is never read as a flag. */
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
