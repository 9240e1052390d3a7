import { checkOptionNames, isJsonObject } from '../model/index.ts'
import { createRuntime, type Runtime } from '../runtime/index.ts'
import type { GivenDocument } from './configuration/index.ts'
import { readServiceConfiguration } from './read-service-configuration.ts'
import type { ServiceAddress } from './service-options.ts'
import { Service } from './service.ts'

/** Widens the types of settings, so that the content of an imported JSON file is accepted. */
type Given<Settings> = Settings extends string
  ? Settings | (string & {})
  : Settings extends readonly (infer Element)[]
    ? readonly Given<Element>[]
    : Settings extends object
      ? {
          readonly [Name in keyof Settings]:
            Given<Settings[Name]> | (string extends Name ? undefined : never)
        }
      : Settings

/** The content of an `evroute.config.json` as an object. If a port is left out, a free one is used. */
export type ServiceConfiguration = Given<GivenDocument>

/** A configuration, and where the service takes its environment, clock and log from. */
export interface CreateServiceOptions {
  /** The path of a configuration file, or its content. Paths in the content are relative to the working directory. */
  readonly configuration: string | ServiceConfiguration
  /** Variables for `env:NAME`. None by default, so that secrets are read from the environment only on purpose. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Clock, randomness, ids, log and observer; the real ones by default. */
  readonly runtime?: Runtime
  /** Called with a fatal error, such as a failure of the store. The caller should then close the service. */
  readonly onFailure?: (error: unknown) => void
}

/** A service that accepts requests. */
export interface RunningService extends AsyncDisposable {
  readonly address: ServiceAddress
  /**
   * Stops accepting requests, waits up to `graceMs` (0 by default) for those in progress, and closes the store, which
   * keeps pending deliveries. If the store's server or disk doesn't answer, closing takes at most seven seconds longer.
   * Idempotent.
   */
  close(graceMs?: number): Promise<void>
}

/**
 * Starts a service in this process, as `evroute serve` does. Resolves once it accepts requests.
 *
 * @throws ConfigurationError (`invalid_setting`) with all problems; EvrouteError `cannot_read_file`,
 * `cannot_write_file`, `store_in_use`, `store_unusable`, `port_in_use` or `cannot_listen`
 */
export async function createService(options: CreateServiceOptions): Promise<RunningService> {
  checkOptionNames(options, { configuration: true, env: true, runtime: true, onFailure: true })
  const { configuration: given, env, runtime = createRuntime(), onFailure } = options
  const { configuration } = await readServiceConfiguration(
    typeof given === 'string' ? given : withFreePorts(given),
    { env, log: runtime.log },
  )
  return Service.start({ configuration, runtime, failed: onFailure })
}

/** Sets ports that are left out to 0. Leaves values of the wrong type to the checks of the configuration. */
function withFreePorts(given: unknown): unknown {
  if (!isJsonObject(given)) return given
  const { listen = {}, admin } = given
  const withFreePort = (section: unknown): unknown =>
    isJsonObject(section) ? { ...section, port: section['port'] ?? 0 } : section
  return { ...given, listen: withFreePort(listen), admin: withFreePort(admin) }
}
