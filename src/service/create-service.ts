import { isJsonObject } from '../model/index.ts'
import { createRuntime, type Runtime } from '../runtime/index.ts'
import type { GivenDocument } from './configuration/index.ts'
import { readServiceConfiguration } from './read-service-configuration.ts'
import type { ServiceAddress } from './service-options.ts'
import { Service } from './service.ts'

/**
 * The settings as a program may give them: an imported JSON file has any text where one of some names is
 * meant, and leaves optional keys undefined.
 */
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

/**
 * What `evroute.config.json` holds, as an object. What is left out has the defaults of the file, except
 * that ports are free ones.
 */
export type ServiceConfiguration = Given<GivenDocument>

/** What a service is made of. */
export interface CreateServiceOptions {
  /** A configuration file, or what it would hold; paths in an object are relative to the working directory. */
  readonly configuration: string | ServiceConfiguration
  /** Where `env:NAME` is looked up; none by default, so that a secret is never found by accident. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Clock, randomness, ids, log and observer; those of production by default. */
  readonly runtime?: Runtime
  /** Called with what keeps the service from going on, for example a store that fails. Close the service then. */
  readonly onFailure?: (error: unknown) => void
}

/** A service that accepts requests. */
export interface RunningService extends AsyncDisposable {
  /** Where it can be reached. */
  readonly address: ServiceAddress
  /**
   * Accepts nothing more, gives requests under way `graceMs` (0 by default), leaves the rest in the store
   * and closes it. Idempotent.
   */
  close(graceMs?: number): Promise<void>
}

/**
 * Starts a service in this process, as `evroute serve` does; resolves once it accepts requests.
 *
 * @throws ConfigurationError (`invalid_setting`) with all that is wrong; EvrouteError `cannot_read_file`,
 *   `store_in_use`, `store_unusable`, `port_in_use` or `cannot_listen`
 */
export async function createService(options: CreateServiceOptions): Promise<RunningService> {
  const { configuration: given, env, runtime = createRuntime(), onFailure } = options
  const { configuration } = await readServiceConfiguration(
    typeof given === 'string' ? given : withFreePorts(given),
    { env, log: runtime.log },
  )
  return Service.start({
    configuration,
    runtime,
    ...(onFailure === undefined ? {} : { failed: onFailure }),
  })
}

/** Anything may be given by a program that is not type-checked; what is no object stays as it is. */
function withFreePorts(given: unknown): unknown {
  if (!isJsonObject(given)) return given
  const { listen = {}, admin } = given
  return { ...given, listen: withFreePort(listen), admin: withFreePort(admin) }
}

function withFreePort(section: unknown): unknown {
  if (!isJsonObject(section)) return section
  const { port = 0 } = section
  return { ...section, port }
}
