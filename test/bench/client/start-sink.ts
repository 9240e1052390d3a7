import { Program } from '../program.ts'
import type { SinkQuestion } from './sink.ts'

/** A sink in its own process. */
export interface Sink {
  /** Its origin, without a trailing slash. */
  readonly origin: string
  /** @throws Error unless exactly this many calls arrived since the last check */
  readonly expectCalls: (count: number) => Promise<void>
  readonly end: () => Promise<void>
}

/** Starts a sink on a free port of 127.0.0.1. */
export async function startSink(): Promise<Sink> {
  const path = new URL('sink.ts', import.meta.url)
  const program = await Program.start<SinkQuestion, number>(path)
  return {
    origin: `http://127.0.0.1:${await program.ask('port')}`,
    expectCalls: async (count) => {
      const arrived = await program.ask('calls')
      if (arrived !== count) throw new Error(`${arrived} calls arrived instead of ${count}`)
    },
    end: () => program.end(),
  }
}
