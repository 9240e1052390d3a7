import type { Counts } from './counts.ts'
import type { Leases } from './leases.ts'
import type { Statements } from './statements.ts'

/** What any process needs to read and change the log. */
export interface LogParts {
  readonly statements: Statements
  readonly counts: Counts
  /** Undefined in a process that does not deliver: it cannot know which deliveries are leased. */
  readonly leases?: Leases
}

/** The parts for the process that delivers from the store. */
export interface StoreParts extends LogParts {
  readonly leases: Leases
  /** Whether ended deliveries and requests are kept. */
  readonly keepsLog: boolean
}
