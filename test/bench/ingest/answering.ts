import type { Program } from '../program.ts'

/** Which server is started: the service, with or without a destination that events go to, or the limit. */
export interface ServerSettings {
  /** The file of the service's store. */
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
