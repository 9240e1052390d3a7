import type { Counts } from './counts.ts'
import type { Leases } from './leases.ts'
import type { Statements } from './statements.ts'

/** What all work on the rows of a connection uses. */
export interface LogParts {
  readonly statements: Statements
  readonly counts: Counts
  /**
   * Undefined in a process that cannot know which deliveries are leased. A purge then ends no pending
   * delivery.
   */
  readonly leases?: Leases
}

/** What all work of the delivering process uses. */
export interface StoreParts extends LogParts {
  readonly leases: Leases
  /** Whether ended deliveries and requests are kept. */
  readonly keepsLog: boolean
}
