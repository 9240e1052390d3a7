import type { PageSessions } from '../../http/index.ts'
import type { Clock } from '../../runtime/index.ts'
import type { EventLog } from '../event-log.ts'
import type { Expectations } from '../expectations.ts'
import type { Injections } from '../faults/index.ts'
import type { Waits } from '../waits.ts'

/** The parts of a receiver that its API shows and changes. */
export interface Inspected {
  readonly log: EventLog
  readonly expectations: Expectations
  /** Ended when the receiver closes. */
  readonly waits: Waits
  readonly secret: string | undefined
  readonly clock: Clock
  /** The URL of each endpoint. */
  readonly urls: () => Promise<readonly string[]>
  /** Lets other machines ask; undefined where only this machine can reach it. */
  readonly sessions: PageSessions | undefined
  /** Checks the token in an Authorization header; undefined where there is none. */
  readonly isToken?: ((authorization: string | undefined) => boolean) | undefined
  /** Its answers; undefined where nothing is received. */
  readonly answers: Pick<Injections, 'planned' | 'respond' | 'respondNext' | 'dropNext'> | undefined
}
