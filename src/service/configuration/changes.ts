import { isDeepStrictEqual } from 'node:util'
import type { Configuration } from './configuration.ts'

/** One difference between two configurations. */
export interface ConfigurationChange {
  /** Such as `listen.port` or `destinations.crm.sharedSecret`, with ids instead of indexes. */
  readonly setting: string
  /** Only a source, a destination or the admin API can be added or removed. */
  readonly kind: 'added' | 'removed' | 'changed'
  /** Whether a running service applies the change at once, or only after a restart. */
  readonly effect: 'at_once' | 'after_restart'
}

const afterRestart = /^(listen\.|admin$|admin\.(host|port|tls)$|(store|tracing|senderThreads)$)/

/** Names of settings in the file, where they differ from the names in {@link Configuration}. */
const namesInFile: Readonly<Record<string, string>> = {
  deliveredMs: 'delivered',
  failedMs: 'failed',
  untriedMs: 'untried',
  messageIdsMs: 'messageIds',
  retryForMs: 'retryFor',
  sourceIds: 'sources',
}

/** Lists the differences between two configurations, ignoring the order of sources and destinations. */
export function changesBetween(
  before: Configuration,
  after: Configuration,
): readonly ConfigurationChange[] {
  const oldParts = partsOf(before)
  const newParts = partsOf(after)
  const names = new Set([...oldParts.keys(), ...newParts.keys()])
  return [...names].flatMap((name) => changesOf(name, oldParts.get(name), newParts.get(name)))
}

function partsOf(configuration: Configuration): ReadonlyMap<string, object> {
  const { listen, admin, network, retention, sources, destinations, ...others } = configuration
  return new Map<string, object>([
    ['listen', listen],
    ...(admin === undefined ? [] : [['admin', admin] as const]),
    ['', others],
    ['network', network],
    ['retention', retention],
    ...sources.map((source) => [`sources.${source.id}`, source] as const),
    ...destinations.map((destination) => [`destinations.${destination.id}`, destination] as const),
  ])
}

function changesOf(
  name: string,
  before: object | undefined,
  after: object | undefined,
): readonly ConfigurationChange[] {
  if (before === undefined) return [change(name, 'added')]
  if (after === undefined) return [change(name, 'removed')]
  // Most parts are equal, and comparing whole parts is faster than comparing their fields.
  if (isDeepStrictEqual(before, after)) return []
  const fieldsBefore = new Map<string, unknown>(Object.entries(before))
  return Object.entries(after)
    .filter(([field, value]) => !isDeepStrictEqual(fieldsBefore.get(field), value))
    .map(([field]) => namesInFile[field] ?? field)
    .map((field) => change(name === '' ? field : `${name}.${field}`, 'changed'))
}

/** Returns the configuration of a running service after a change. Settings that need a restart stay the same. */
export function followed(before: Configuration, after: Configuration): Configuration {
  const { listen, admin, store, tracing, senderThreads } = before
  const access = admin && {
    ...(after.admin ?? admin),
    host: admin.host,
    port: admin.port,
    tls: admin.tls,
  }
  return { ...after, listen, admin: access, store, tracing, senderThreads }
}

/**
 * Returns `after` with the `enabled` of the running destinations, because the admin API may have changed it. If
 * `enabled` differs between the two files, the new file decides.
 */
export function withSwitches(
  after: Configuration,
  { running, before }: { readonly running: Configuration; readonly before: Configuration },
): Configuration {
  const enabledIn = ({ destinations }: Configuration): ReadonlyMap<string, boolean> =>
    new Map(destinations.map(({ id, enabled }) => [id, enabled]))
  const [switches, given] = [enabledIn(running), enabledIn(before)]
  const destinations = after.destinations.map((each) =>
    given.get(each.id) === each.enabled
      ? { ...each, enabled: switches.get(each.id) ?? each.enabled }
      : each,
  )
  return { ...after, destinations }
}

/** Whether any of the changes is to a setting whose name matches. */
export function isAbout(changes: readonly ConfigurationChange[], settings: RegExp): boolean {
  return changes.some(({ setting }) => settings.test(setting))
}

function change(setting: string, kind: ConfigurationChange['kind']): ConfigurationChange {
  return { setting, kind, effect: afterRestart.test(setting) ? 'after_restart' : 'at_once' }
}
