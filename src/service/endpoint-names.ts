import { AddressGuard, type AddressGuardOptions } from '../http/index.ts'
import { systemClock, type Log, type Timer } from '../runtime/index.ts'
import { checkNames, type NameFinding } from '../webhook/index.ts'
import type { Configuration, ConfigurationProblem } from './configuration/index.ts'

/** What names are looked up with. */
export interface NameSurroundings {
  /** Is told what does not speak against the configuration, and what was found too late. */
  readonly log: Log
  /** The system's resolver by default. */
  readonly resolveName?: AddressGuardOptions['resolveName']
}

/** Nobody waits longer for a resolver than so much of real time. */
const waitMs = 1_000

/**
 * Looks up the names of all endpoints that are sent to. One that leads to an address which is refused
 * is a problem of the configuration; one without an address may get one, and is told to the log. So is
 * what a slow resolver answers later: each connection is checked again when it is made.
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
  const looking = destinations.map(async (destination, index) => {
    if (!destination.enabled) return
    const findings = await checkNames(destination, guard)
    for (const finding of findings) note(`destinations[${index}]`, finding)
  })
  await atMost(waitMs, Promise.all(looking))
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
