import type { Program } from '../program.ts'

/** What a server is started with. */
export interface ServerSettings {
  /** The file that it stores in, if it does. */
  readonly path: string
  /** Whether the source is connected to a destination. */
  readonly isRouted: boolean
}

/** What a server is asked. */
export type ServerQuestion = 'origin' | 'peakMemoryMb'

/** A server in a process of its own, which says where it is and how much memory it took. */
export type Server = Program<ServerQuestion, string | number>

/** Answers what a server is asked. */
export function answerOf(question: ServerQuestion, origin: string): string | number {
  return question === 'origin' ? origin : process.resourceUsage().maxRSS / 1024
}
