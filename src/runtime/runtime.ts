import { systemClock, type Clock } from './clock.ts'
import { logFromEnvironment, type Log } from './log.ts'
import { silentObserver, type Observer } from './observer.ts'
import { timeOrderedId } from './time-ordered-id.ts'

/** The ambient parts that a room gets instead of using globals. */
export interface Runtime {
  /** The only source of time. */
  readonly clock: Clock
  /** A number from 0 up to, but not including, 1. */
  readonly random: () => number
  /** A new unique id; later ones come after it in the order of text. */
  readonly newId: () => string
  /** The log of the process. */
  readonly log: Log
  /** Observes deliveries. */
  readonly observer: Observer
}

/** The production bundle, with any part replaced. */
export function createRuntime(replacements: Partial<Runtime> = {}): Runtime {
  return Object.freeze({
    clock: systemClock,
    random: Math.random,
    newId: () => timeOrderedId(systemClock.nowMs()),
    log: logFromEnvironment(),
    observer: silentObserver,
    ...replacements,
  })
}
