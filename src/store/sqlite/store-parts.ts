import type { Counts } from './counts.ts'
import type { Leases } from './leases.ts'
import type { Statements } from './statements.ts'

/** What work on rows needs in any process. */
export interface LogParts {
  readonly statements: Statements
  readonly counts: Counts
  /** Undefined in a process that does not deliver: it cannot know which deliveries are leased. */
  readonly leases?: Leases
}

/** What work on rows needs in the delivering process. */
export interface StoreParts extends LogParts {
  readonly leases: Leases
  /** Whether ended deliveries and requests are kept. */
  readonly keepsLog: boolean
}
