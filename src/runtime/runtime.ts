import { systemClock, type Clock } from './clock.ts'
import { logFromEnvironment, type Log } from './log.ts'
import { silentObserver, type Observer } from './observer.ts'
import { timeOrderedId } from './time-ordered-id.ts'

/** The clock, randomness, ids and log that all code is given, so that it uses no globals. */
export interface Runtime {
  readonly clock: Clock
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number
  /** Returns a new unique id. Ids sort by the time of their creation. */
  readonly newId: () => string
  readonly log: Log
  readonly observer: Observer
}

/** Makes a runtime with the system's clock, randomness and log, some of them replaced. */
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
