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
  readonly waits: Waits
  readonly secret: string | undefined
  readonly clock: Clock
  /** The URLs of the endpoints. For a capture, the URL of `resendTo`, if it is given. */
  readonly urls: () => Promise<readonly string[]>
  /** Sessions of browsers on other machines; undefined if only this machine can reach the receiver. */
  readonly sessions: PageSessions | undefined
  /** Whether an Authorization header contains the receiver's token; undefined if no token is set. */
  readonly isToken?: ((authorization: string | undefined) => boolean) | undefined
  readonly passesOn: boolean
  /** The planned answers; undefined for a capture, which receives nothing. */
  readonly answers: Pick<Injections, 'planned' | 'respond' | 'respondNext' | 'dropNext'> | undefined
}
