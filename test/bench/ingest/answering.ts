import type { Program } from '../program.ts'

export interface ServerSettings {
  /** The store's file, for a server that stores. */
  readonly path: string
  /** Whether the source has a destination. */
  readonly isRouted: boolean
}

/** Asks for the server's origin or its peak memory. */
export type ServerQuestion = 'origin' | 'peakMemoryMb'

/** A server in its own process. */
export type Server = Program<ServerQuestion, string | number>

/** Answers a question to the server in this process. */
export function answerOf(question: ServerQuestion, origin: string): string | number {
  return question === 'origin' ? origin : process.resourceUsage().maxRSS / 1024
}
