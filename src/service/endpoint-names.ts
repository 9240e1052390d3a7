import { AddressGuard, type AddressGuardOptions } from '../http/index.ts'
import { systemClock, type Log, type Timer } from '../runtime/index.ts'
import { checkNames, type NameFinding } from '../webhook/index.ts'
import type { Configuration, ConfigurationProblem } from './configuration/index.ts'

/** What names are looked up with. */
export interface NameSurroundings {
  /** Logs problems that do not refuse the configuration, and those that were found too late. */
  readonly log: Log
  /** The names of this process by default. */
  readonly resolveName?: AddressGuardOptions['resolveName']
}

/** How long DNS may delay the reading of a configuration, in real time. */
const waitMs = 1_000
/** Destinations that are looked at together. The check leaves room for the look-ups of connections. */
const lookingMax = 100

/**
 * Looks up the names of all endpoints that are sent to. One that leads to an address which is refused
 * is a problem of the configuration; one without an address may get one, and is logged. So is
 * an answer that comes late. Names that are left then are not looked up: each connection is checked
 * again when it is made.
 *
 * @returns what is wrong, as far as it is known in time
 */
export async function checkEndpointNames(
  { network, destinations }: Configuration,
  { log, resolveName }: NameSurroundings,
): Promise<readonly ConfigurationProblem[]> {
  const guard = new AddressGuard({
    allow: network.allow,
    ...(resolveName === undefined ? {} : { resolveName }),
  })
  const problems: ConfigurationProblem[] = []
  let isLate = false
  const note = (place: string, { kind, setting, message }: NameFinding): void => {
    const path = `${place}.${setting}`
    if (kind === 'refused' && !isLate) problems.push({ path, message, hint: undefined })
    else log.warn('an endpoint cannot be reached by its name', { setting: path, reason: message })
  }
  const waiting = destinations.entries()
  const look = async (): Promise<void> => {
    for (const [index, destination] of waiting) {
      if (!destination.enabled) continue
      const findings = await checkNames(destination, guard)
      for (const finding of findings) note(`destinations[${index}]`, finding)
      if (isLate) return
    }
  }
  await atMost(waitMs, Promise.all(Array.from({ length: lookingMax }, look)))
  isLate = true
  return problems
}

/** Resolves as the work does, or once the time is over. */
async function atMost(timeMs: number, work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined
  const timeIsOver = new Promise<void>((resolve) => {
    timer = systemClock.schedule(timeMs, resolve)
  })
  try {
    await Promise.race([work, timeIsOver])
  } finally {
    timer?.cancel()
  }
}
