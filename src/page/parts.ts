import type { EventRecord } from '../receiver/index.ts'
import type { Dialogs } from './dialog.tsx'
import type { Session } from './session.ts'

/** What the components of a receiver's page act on. */
export interface SessionParts {
  readonly session: Session
}

/** The same, for components that open dialogs. */
export interface PageParts extends SessionParts {
  readonly dialogs: Dialogs
}

/** The same, for components of a request. */
export interface RequestParts extends PageParts {
  readonly record: EventRecord
}
