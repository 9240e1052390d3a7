import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createRuntime, type Runtime } from '../runtime/index.ts'
import {
  ConfigurationError,
  readConfiguration,
  type Configuration,
  type ConfigurationOutcome,
  type ConfigurationSurroundings,
} from './configuration/index.ts'
import type {
  ConfigurationDocument,
  DestinationDocument,
  SourceDocument,
} from './configuration/document.ts'
import { checkEndpointNames } from './endpoint-names.ts'
import { Service, type ServiceAddress } from './service.ts'

type Section<Name extends keyof ConfigurationDocument> = Partial<
  NonNullable<ConfigurationDocument[Name]>
>

/** What `evroute.config.json` holds, as an object; what is left out has the defaults of the file. */
export interface ServiceConfiguration {
  /** Where clients post to; on a free port by default. */
  readonly listen?: Section<'listen'>
  /** The admin API, on a free port by default; none when it is left out. */
  readonly admin?: { readonly port?: number; readonly token: string } | null
  /** `memory:` or `sqlite:<file>`; `sqlite:./evroute.db` by default. */
  readonly store?: string
  /** Private and other non-public addresses that webhooks may go to nevertheless. */
  readonly network?: Section<'network'>
  /** How long the store remembers. */
  readonly retention?: Section<'retention'>
  /** How much is taken in. */
  readonly limits?: Section<'limits'>
  /** Who sends, at least one. */
  readonly sources: readonly (Partial<SourceDocument> & Pick<SourceDocument, 'id' | 'writeKeys'>)[]
  /** Where events go. */
  readonly destinations?: readonly (Partial<Omit<DestinationDocument, 'endpoints'>> &
    Pick<DestinationDocument, 'id' | 'type' | 'sources'> & {
      readonly endpoints: readonly {
        readonly url: string
        readonly headers?: Readonly<Record<string, string>>
      }[]
    })[]
}

/** What a service is made of. */
export interface CreateServiceOptions {
  /** A configuration file, or what it would hold; paths in an object are relative to the working directory. */
  readonly configuration: string | ServiceConfiguration
  /** Where `env:NAME` is looked up; none by default, so that a secret is never found by accident. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Clock, randomness, ids, log and observer; those of production by default. */
  readonly runtime?: Runtime
  /** Is told what keeps the service from going on, such as a store that fails; it should be closed then. */
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
  const { runtime = createRuntime(), onFailure } = options
  return Service.start({
    configuration: await checkedConfiguration(options, runtime),
    runtime,
    ...(onFailure === undefined ? {} : { failed: onFailure }),
  })
}

async function checkedConfiguration(
  { configuration, env = {} }: CreateServiceOptions,
  { log }: Runtime,
): Promise<Configuration> {
  const surroundings = { env, readFile: (file: string) => readFile(file, 'utf8') }
  const isFile = typeof configuration === 'string'
  const name = isFile ? configuration : 'the configuration'
  const outcome = isFile
    ? await readConfiguration(configuration, surroundings)
    : await readObject(configuration, surroundings)
  if (outcome.kind === 'invalid') throw new ConfigurationError(name, outcome.problems)
  const problems = await checkEndpointNames(outcome.configuration, { log })
  if (problems.length > 0) throw new ConfigurationError(name, problems)
  return outcome.configuration
}

/** Reads an object as the file that it could be, in the working directory. */
function readObject(
  { listen, admin, ...others }: ServiceConfiguration,
  { env, readFile: read }: ConfigurationSurroundings,
): Promise<ConfigurationOutcome> {
  const document = {
    ...others,
    listen: { port: 0, ...listen },
    admin: admin ? { port: 0, ...admin } : null,
  }
  const path = resolve('evroute.config.json')
  const text = JSON.stringify(document)
  return readConfiguration(path, {
    env,
    readFile: (file) => (file === path ? Promise.resolve(text) : read(file)),
  })
}
