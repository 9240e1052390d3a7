import { Program } from '../program.ts'
import type { SinkQuestion } from './sink.ts'

/** A sink in a process of its own. */
export interface Sink {
  /** Where it answers, without a slash at the end. */
  readonly origin: string
  /** @throws Error when other than so many calls have come since it was asked last */
  readonly expectCalls: (count: number) => Promise<void>
  /** Ends it. */
  readonly end: () => Promise<void>
}

/** Starts one on a free port of this machine. */
export async function startSink(): Promise<Sink> {
  const path = new URL('sink.ts', import.meta.url)
  const program = await Program.start<SinkQuestion, number>(path)
  return {
    origin: `http://127.0.0.1:${await program.ask('port')}`,
    expectCalls: async (count) => {
      const arrived = await program.ask('calls')
      if (arrived !== count) throw new Error(`${arrived} calls have come instead of ${count}`)
    },
    end: () => program.end(),
  }
}
