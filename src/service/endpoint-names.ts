import { AddressGuard, type AddressGuardOptions } from '../http/index.ts'
import { sleep, systemClock, type Log } from '../runtime/index.ts'
import { checkNames, type NameFinding } from '../webhook/index.ts'
import type { Configuration, ConfigurationProblem } from './configuration/index.ts'

/** The log of the host name check, and the resolver that it uses. */
export interface NameCheckOptions {
  /** Receives names without an address, and problems found after {@link checkEndpointNames} has returned. */
  readonly log: Log
  readonly resolveName?: AddressGuardOptions['resolveName']
}

/** How long DNS may delay a configuration, in real time. */
const waitMs = 1_000
/** Number of destinations checked at once. The limit leaves room for look-ups by connections. */
const lookingMax = 100

/**
 * Looks up the host names of all endpoints of enabled destinations. Returns a problem for each name with a forbidden
 * address. A name without an address is only logged, because it may get one later.
 *
 * Returns after a second at most, and only logs problems found later. Every connection checks its address anyway.
 */
export async function checkEndpointNames(
  { network, destinations }: Configuration,
  { log, resolveName }: NameCheckOptions,
): Promise<readonly ConfigurationProblem[]> {
  const guard = new AddressGuard({
    ...network,
    ...(resolveName === undefined ? {} : { resolveName }),
  })
  const problems: ConfigurationProblem[] = []
  let isLate = false
  const note = (endpointPath: string, { kind, setting, message }: NameFinding): void => {
    const path = `${endpointPath}.${setting}`
    if (kind === 'refused' && !isLate) problems.push({ path, message, hint: undefined })
    else log.warn('the host name of an endpoint cannot be used', { setting: path, reason: message })
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
  const isDone = new AbortController()
  const looks = Promise.all(Array.from({ length: lookingMax }, look))
  await Promise.race([looks, sleep(systemClock, waitMs, isDone.signal)])
  isDone.abort()
  isLate = true
  return problems
}
