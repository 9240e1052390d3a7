import {
  scenarioNamed,
  type Fault,
  type ReceiverOptions,
  type TlsKind,
} from '../../receiver/index.ts'
import type { FaultFlags } from './fault-flags.ts'

/**
 * The receiver options that the flags set.
 *
 * @throws SettingError for an unknown scenario
 */
export function faultOptions(flags: FaultFlags): ReceiverOptions {
  const { respond, delay, fail, fault, seed, tls, endpoints, scenario } = flags
  if (scenario !== undefined) return scenarioNamed(scenario).settings
  return {
    respond,
    delayMs: delay,
    failShare: fail,
    // The receiver checks both values.
    fault: fault as Fault | undefined,
    tls: tls as TlsKind | undefined,
    seed,
    endpoints,
  }
}
