import type { EventRecord } from '../receiver/index.ts'
import type { Dialogs } from './dialog.tsx'
import type { Session } from './session.ts'

/** The properties of all components of a receiver's page. */
export interface SessionParts {
  readonly session: Session
}

/** The properties of components that open dialogs. */
export interface PageParts extends SessionParts {
  readonly dialogs: Dialogs
}

/** The properties of components that show a request. */
export interface RequestParts extends PageParts {
  readonly record: EventRecord
}
