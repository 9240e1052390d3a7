import {
  scenarioNamed,
  type Fault,
  type ReceiverOptions,
  type TlsKind,
} from '../../receiver/index.ts'
import type { FaultFlags } from './fault-flags.ts'

/**
 * What the flags set of a receiver.
 *
 * @throws SettingError for a scenario that there is not
 */
export function faultOptions(flags: FaultFlags): ReceiverOptions {
  const { respond, delay, fail, fault, seed, tls, endpoints, scenario } = flags
  if (scenario !== undefined) return scenarioNamed(scenario).settings
  return {
    respond,
    delayMs: delay,
    failShare: fail,
    // The receiver checks both.
    fault: fault as Fault | undefined,
    tls: tls as TlsKind | undefined,
    seed,
    endpoints,
  }
}
