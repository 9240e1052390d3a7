import { isJsonObject, type AliasKeys } from '../model/index.ts'
import { createRuntime, type Runtime } from '../runtime/index.ts'
import type {
  ConfigurationDocument,
  DestinationDocument,
  SourceDocument,
} from './configuration/index.ts'
import { readServiceConfiguration } from './read-service-configuration.ts'
import type { ServiceAddress } from './service-options.ts'
import { Service } from './service.ts'

/** Settings that may be left out. */
type Optional<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

/** One of the names, or any text: that is what the names in an imported JSON file are to TypeScript. */
type NameOf<Names extends string> = Names | (string & {})

/** What `evroute.config.json` holds, as an object; what is left out has the defaults of the file. */
export interface ServiceConfiguration {
  /** Lets editors complete a file; of no other use. */
  readonly $schema?: string | undefined
  /** Where clients post to; on a free port by default. */
  readonly listen?: Optional<ConfigurationDocument['listen']> | undefined
  /** The admin API, on a free port by default; none when it is left out. */
  readonly admin?:
    | (Optional<NonNullable<ConfigurationDocument['admin']>> & { readonly token: string })
    | null
    | undefined
  /** `memory:`, `sqlite:<file>` or `postgres://...`, or a reference to one; `sqlite:./evroute.db` by default. */
  readonly store?: string | undefined
  /** Private and other non-public addresses that webhooks may go to nevertheless. */
  readonly network?: Optional<ConfigurationDocument['network']> | undefined
  /** How long the store remembers. */
  readonly retention?: Optional<ConfigurationDocument['retention']> | undefined
  /** How much is taken in. */
  readonly limits?: Optional<ConfigurationDocument['limits']> | undefined
  /** Who sends, at least one. */
  readonly sources: readonly SourceSettings[]
  /** Where events go. */
  readonly destinations?: readonly DestinationSettings[] | undefined
}

type SourceSettings = Optional<Omit<SourceDocument, 'id' | 'writeKeys'>> &
  Pick<SourceDocument, 'id' | 'writeKeys'>

type DestinationSettings = Optional<
  Omit<DestinationDocument, 'id' | 'type' | 'sources' | 'endpoints' | 'aliasKeys'>
> &
  Pick<DestinationDocument, 'id' | 'sources'> & {
    readonly type: NameOf<'Webhooks'>
    readonly endpoints: readonly {
      readonly url: string
      readonly headers?: Readonly<Record<string, string | undefined>> | undefined
    }[]
    readonly aliasKeys?: NameOf<AliasKeys> | undefined
  }

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
