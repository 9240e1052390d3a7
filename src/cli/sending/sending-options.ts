import { createHash } from 'node:crypto'
import { Option, type Command } from 'commander'
import type { EventFilter } from '../../match/index.ts'
import {
  formatDuration,
  limits,
  parseUrl,
  SettingError,
  type Destination,
} from '../../model/index.ts'
import { bodyStyles, checkDestination, type BodyStyle } from '../../webhook/index.ts'
import {
  choiceOf,
  countFlag,
  durationFlag,
  durationFlagUpTo,
  headerFlag,
  repeatable,
  addOutputFlags,
} from '../flags.ts'
import type { Io } from '../io.ts'
import { readGivenStoreUrl, readHeaders, readSecret } from '../secret.ts'
import type { TimeShiftBy } from './captured-request.ts'

/** The default target of `send` and `replay`: the default address of `listen`. */
export const defaultUrl = 'http://127.0.0.1:4100/'
const retryForDefaultMs = 60_000
/** The maximum flush interval that the client accepts. */
const flushAfterMsMax = 24 * 60 * 60 * 1_000

/**
 * Where calls go: through client, router and sender in this process to webhook endpoints, or through the client
 * to a service. Captured requests go to webhook endpoints unchanged. The sources and destinations of a
 * configuration are for plans.
 */
export type SendingTarget = WebhookTarget | ServiceTarget | CapturedTarget | ConfiguredTarget

/** Webhook endpoints. */
export interface WebhookTarget {
  readonly kind: 'webhooks'
  readonly destination: Destination
  /** How to write the bodies; undefined for `JSON.stringify`. */
  readonly bodyStyle: BodyStyle | undefined
}

/** Webhook endpoints for captured requests. */
export interface CapturedTarget {
  readonly kind: 'captured'
  readonly destination: Destination
  /** Signs requests again; undefined to keep the signatures. */
  readonly newSecret: string | undefined
  /** How to move the timestamps in bodies; undefined to keep them. */
  readonly shiftBy: TimeShiftBy | undefined
}

/** A service. */
export interface ServiceTarget {
  readonly kind: 'service'
  readonly endpoint: string
  readonly writeKey: string
}

/** The sources and destinations of a configuration. Calls are planned for them, never sent. */
export interface ConfiguredTarget {
  readonly kind: 'configured'
  readonly sourceId: string
  readonly destinations: readonly Destination[]
}

/** The options that `send` and `replay` share. */
export interface SendingOptions {
  readonly target: SendingTarget
  /** Sends only the rows that fit; undefined sends all. */
  readonly only: EventFilter | undefined
  /** Calls per batch; undefined for the client's default. */
  readonly flushAt: number | undefined
  /** Flush interval, in milliseconds; undefined for the client's default. */
  readonly flushAfterMs: number | undefined
  /** The URL of the store for undelivered webhooks; undefined to keep them in memory. */
  readonly store: string | undefined
  readonly retryForMs: number
  readonly timeoutMs: number
  readonly virtualClock: boolean
  readonly dryRun: boolean
  readonly json: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  readonly color: boolean
}

/** The options from flags and environment, before the input is known. */
export interface GivenSendingOptions extends SendingOptions {
  readonly target: WebhookTarget | ServiceTarget
}

/** The flags, from commander. */
export interface SendingFlags {
  readonly to?: readonly string[]
  readonly header?: Readonly<Record<string, string>>
  readonly secret?: string
  readonly bodyStyle?: BodyStyle
  readonly only?: string
  readonly writeKey?: string
  readonly endpoint?: string
  readonly flushAt?: number
  readonly flushAfter?: number
  readonly store?: string
  readonly retryFor?: number
  readonly timeout?: number
  readonly clock?: string
  readonly dryRun?: boolean
  readonly json?: boolean
  readonly quiet?: boolean
  readonly verbose?: boolean
  readonly color?: boolean
}

/** Adds the flags for webhook endpoints. */
export function addWebhookFlags(command: Command): Command {
  return command
    .optionsGroup('Where to:')
    .option('--to <url>', 'endpoint, up to 5 [EVROUTE_URL or port 4100]', repeatable)
    .option('-H, --header <name: value>', 'static header, repeatable', headerFlag)
    .option('--secret <value>', 'sign: text, @file or env:NAME [EVROUTE_SECRET]')
}

/** Adds the flags that `send` and `replay` share. */
export function addSendingFlags(command: Command): Command {
  addWebhookFlags(command)
    .addOption(
      new Option('--body-style <style>', `write JSON as: ${bodyStyles.join(', ')}`).argParser(
        choiceOf(bodyStyles),
      ),
    )
    .option('--endpoint <url>', "send to a service's tracking API instead")
    .option('--write-key <key>', 'its write key [EVROUTE_WRITE_KEY]')
    .optionsGroup('Delivery:')
    .option('--only <match>', "send only what matches: 'type:track'")
    .option('--store <url>', 'keep undelivered webhooks here and resume later')
    .option('--retry-for <duration>', 'retry a delivery for up to 30d [60s]', durationFlag)
    .option('--timeout <duration>', 'time for one answer, at most 5s [5s]', durationFlag)
    .addOption(
      new Option('--clock <kind>', 'real or virtual; virtual retries at once [real]').argParser(
        choiceOf(['real', 'virtual']),
      ),
    )
    .option(
      '--flush-at <n>',
      'calls in a batch [20 to 250]',
      countFlag(1, limits.intakeBatchEventsMax),
    )
    .option('--flush-after <duration>', 'flush interval [5s]', durationFlagUpTo(flushAfterMsMax))
    .option('-n, --dry-run', 'show what would be sent; send nothing')
  return addOutputFlags(command)
}

/**
 * Checks the shared flags, reads the secret or the write key and the store, and freezes the result.
 *
 * @throws SettingError; EvrouteError `cannot_read_file`
 */
export async function readSendingOptions(
  flags: SendingFlags,
  io: Io,
): Promise<GivenSendingOptions> {
  refuseBesideStore(flags)
  const target = await readTarget(flags, io)
  const store = await readGivenStoreUrl(flags.store, io)
  return Object.freeze({
    target,
    only: await readOnly(flags.only),
    store: store === 'memory:' ? undefined : store,
    flushAt: flags.flushAt,
    flushAfterMs: flags.flushAfter,
    retryForMs: within('--retry-for', flags.retryFor ?? retryForDefaultMs, [
      0,
      limits.retryWindowMsMax,
    ]),
    timeoutMs: within('--timeout', flags.timeout ?? limits.endpointDeadlineMs, [
      1,
      limits.endpointDeadlineMs,
    ]),
    virtualClock: flags.clock === 'virtual',
    dryRun: flags.dryRun ?? false,
    json: flags.json ?? false,
    quiet: flags.quiet ?? false,
    verbose: flags.verbose ?? false,
    color: flags.color ?? true,
  })
}

async function readOnly(text: string | undefined): Promise<EventFilter | undefined> {
  if (text === undefined) return undefined
  // Import here: most runs don't need the match language.
  const { EventFilter } = await import('../../match/index.ts')
  return new EventFilter(text)
}

async function readTarget(flags: SendingFlags, io: Io): Promise<WebhookTarget | ServiceTarget> {
  const endpoint = flags.endpoint ?? (io.env['EVROUTE_ENDPOINT'] || undefined)
  if (flags.endpoint !== undefined || (endpoint !== undefined && flags.to === undefined)) {
    return serviceTarget(endpoint ?? '', flags, io)
  }
  if (flags.writeKey !== undefined) {
    throw new SettingError(
      '--write-key',
      'Cannot use --write-key without --endpoint: webhooks need none',
      'Name the service with --endpoint or EVROUTE_ENDPOINT.',
    )
  }
  // `run` sets it to the URL of its receiver.
  const urls = flags.to ?? [io.env['EVROUTE_URL'] || defaultUrl]
  const headers = await readHeaders(flags.header, io)
  const given = checkDestination({
    id: 'to',
    sourceIds: [],
    endpoints: urls.map((url) => ({ url, headers })),
    sharedSecret: await readSecret(flags.secret, io),
  })
  const id = adHocDestinationId(given.endpoints.map(({ url }) => url))
  const destination = { ...given, id, sourceIds: [`${commandLineSourceId}:${id}`] }
  return { kind: 'webhooks', destination, bodyStyle: flags.bodyStyle }
}

/** Flags that only apply to webhooks. With a service they are refused rather than ignored. */
const webhookFlags = [
  ['--to', 'to'],
  ['--header', 'header'],
  ['--secret', 'secret'],
  ['--body-style', 'bodyStyle'],
  ['--store', 'store'],
  ['--retry-for', 'retryFor'],
] as const satisfies readonly (readonly [string, keyof SendingFlags])[]

/** Accepts the request URL of a service, or its host, as Segment's libraries do. */
function requestUrl(endpoint: string): string {
  const url = parseUrl(endpoint)
  return url?.pathname === '/' ? new URL('/v1/batch', url).href : endpoint
}

async function serviceTarget(
  endpoint: string,
  flags: SendingFlags,
  io: Io,
): Promise<ServiceTarget> {
  const unused = webhookFlags.find(([, field]) => flags[field] !== undefined)
  if (unused !== undefined) {
    throw new SettingError(
      unused[0],
      `Cannot use ${unused[0]} together with a service: its own settings say what becomes of calls`,
      `The service is ${endpoint}; leave out --endpoint or EVROUTE_ENDPOINT to send webhooks.`,
    )
  }
  const given = (flags.writeKey ?? io.env['EVROUTE_WRITE_KEY']) || undefined
  const writeKey = given === undefined ? undefined : await readSecret(given, io, '--write-key')
  if (writeKey === undefined) {
    throw new SettingError(
      '--write-key',
      'Cannot send to a service without a write key',
      'Pass --write-key <value>, env:NAME or @file, or set EVROUTE_WRITE_KEY.',
    )
  }
  return { kind: 'service', endpoint: requestUrl(endpoint), writeKey }
}

/** Refuses flags that would store things that did not happen: the store outlives the command. */
function refuseBesideStore({ store, dryRun, clock }: SendingFlags): void {
  if (store === undefined) return
  if (dryRun === true) {
    throw new SettingError(
      '--store',
      'Cannot use --store together with --dry-run: nothing is stored where nothing is sent',
    )
  }
  if (clock === 'virtual') {
    throw new SettingError(
      '--store',
      'Cannot use --store together with --clock virtual: the store would hold times that have not come',
    )
  }
}

function within(
  flag: string,
  durationMs: number,
  [minMs, maxMs]: readonly [number, number],
): number {
  if (durationMs >= minMs && durationMs <= maxMs) return durationMs
  throw new SettingError(
    flag,
    `Cannot use ${flag} ${formatDuration(durationMs)}: it must be between ${formatDuration(minMs)} and ${formatDuration(maxMs)}`,
  )
}

/** The source of all calls from the command line. */
export const commandLineSourceId = 'cli'

/**
 * Returns the source of calls to an ad-hoc destination. Each destination has its own. Otherwise a call that was
 * sent to one destination would be a duplicate for the next.
 */
export function sourceIdOf({ sourceIds: [sourceId = commandLineSourceId] }: Destination): string {
  return sourceId
}

/** Makes the id of an ad-hoc destination: the same for the same URLs, and with the host, for people. */
function adHocDestinationId(urls: readonly string[]): string {
  const hash = createHash('sha256')
    .update([...urls].sort().join('\n'))
    .digest('hex')
  const host = new URL(urls[0] ?? defaultUrl).host.replaceAll(/[^a-z0-9.]/g, '-')
  return `to-${host.slice(0, 40)}-${hash.slice(0, 8)}`
}
