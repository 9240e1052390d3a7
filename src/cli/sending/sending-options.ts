import { createHash } from 'node:crypto'
import { Option, type Command } from 'commander'
import {
  formatDuration,
  limits,
  parseUrl,
  SettingError,
  type Destination,
} from '../../model/index.ts'
import { bodyStyles, checkDestination, type BodyStyle } from '../../webhook/index.ts'
import { countFlag, durationFlag, durationFlagUpTo, headerFlag, repeatable } from '../flags.ts'
import type { Io } from '../io.ts'
import { readSecret, readGivenStoreUrl, storeForms } from '../secret.ts'
import type { TimeShiftBy } from './time-shift.ts'

/** The default target of `send` and `replay`: the default address of `listen`. */
export const defaultUrl = 'http://127.0.0.1:4100/'
const retryForDefaultMs = 60_000
/** The maximum that the client accepts. */
const flushAfterMsMax = 24 * 60 * 60 * 1_000

/**
 * Where calls go: to webhook endpoints, through client, router and sender in this process; or through the
 * client to a service. Captured requests go to webhook endpoints unchanged.
 */
export type SendingTarget = WebhookTarget | ServiceTarget | CapturedTarget

/** Webhook endpoints. */
export interface WebhookTarget {
  /** Distinguishes it from a service. */
  readonly kind: 'webhooks'
  /** The endpoints and their settings. */
  readonly destination: Destination
  /** How to write the bodies; undefined for `JSON.stringify`. */
  readonly bodyStyle: BodyStyle | undefined
}

/** Webhook endpoints for captured requests. */
export interface CapturedTarget {
  /** Distinguishes it from endpoints for new webhooks. */
  readonly kind: 'captured'
  readonly destination: Destination
  /** Signs requests again; undefined to keep the signatures. */
  readonly newSecret: string | undefined
  /** How to move the timestamps in bodies; undefined to keep them. */
  readonly shiftBy: TimeShiftBy | undefined
}

/** A service. */
export interface ServiceTarget {
  /** Distinguishes it from webhook endpoints. */
  readonly kind: 'service'
  /** The request URL of its tracking API. */
  readonly endpoint: string
  /** The write key of the source. */
  readonly writeKey: string
}

/** The options that `send` and `replay` share. */
export interface SendingOptions {
  /** Where calls go. */
  readonly target: SendingTarget
  /** Calls per batch; undefined for the client's default. */
  readonly flushAt: number | undefined
  /** Flush interval, in milliseconds; undefined for the client's default. */
  readonly flushAfterMs: number | undefined
  /** The URL of the store for undelivered webhooks; undefined to keep them in memory. */
  readonly store: string | undefined
  /** How long to retry a delivery, in milliseconds. */
  readonly retryForMs: number
  /** Request timeout, in milliseconds. */
  readonly timeoutMs: number
  /** Whether waiting takes no time. */
  readonly virtualClock: boolean
  /** Show what would be sent, and send nothing. */
  readonly dryRun: boolean
  /** NDJSON on stdout. */
  readonly json: boolean
  /** No progress; only the summary. */
  readonly quiet: boolean
  /** A line for every request. */
  readonly verbose: boolean
  /** False with `--no-color`. */
  readonly color: boolean
}

/** The options from flags and environment, before the input is known. */
export interface GivenSendingOptions extends SendingOptions {
  readonly target: WebhookTarget | ServiceTarget
}

/** The flags, from commander. */
export interface SendingFlags {
  /** `--to` */
  readonly to?: readonly string[]
  /** `--header` */
  readonly header?: Readonly<Record<string, string>>
  /** `--secret` */
  readonly secret?: string
  /** `--body-style` */
  readonly bodyStyle?: BodyStyle
  /** `--write-key` */
  readonly writeKey?: string
  /** `--endpoint` */
  readonly endpoint?: string
  /** `--flush-at` */
  readonly flushAt?: number
  /** `--flush-after` */
  readonly flushAfter?: number
  /** `--store` */
  readonly store?: string
  /** `--retry-for` */
  readonly retryFor?: number
  /** `--timeout` */
  readonly timeout?: number
  /** `--clock` */
  readonly clock?: string
  /** `--dry-run` */
  readonly dryRun?: boolean
  /** `--json` */
  readonly json?: boolean
  /** `--quiet` */
  readonly quiet?: boolean
  /** `--verbose` */
  readonly verbose?: boolean
  /** `--no-color` */
  readonly color?: boolean
}

/** Adds the flags for webhook endpoints. */
export function addWebhookFlags(command: Command): Command {
  return command
    .option(
      '--to <url>',
      `endpoint to deliver to, 1 to 5 times (default: EVROUTE_URL or ${defaultUrl})`,
      repeatable,
    )
    .option('-H, --header <name: value>', 'static header of every webhook, repeatable', headerFlag)
    .option('--secret <value>', 'sign with it; also @file, env:NAME or EVROUTE_SECRET')
}

/** Adds the flags for output. */
export function addOutputFlags(command: Command): Command {
  return command
    .option('--json', 'NDJSON records on stdout')
    .option('-q, --quiet', 'only the summary')
    .option('-v, --verbose', 'a line for every request')
    .option('--no-color', 'no colours')
}

/** Adds the flags that `send` and `replay` share. */
export function addSendingFlags(command: Command): Command {
  addWebhookFlags(command)
    .addOption(
      new Option('--body-style <style>', 'write bodies as encoders of other languages do').choices(
        bodyStyles,
      ),
    )
    .option(
      '--endpoint <url>',
      'send to the tracking API of a service instead of to webhooks: its host, or <host>/v1/batch',
    )
    .option(
      '--write-key <key>',
      'write key of the source there; also @file, env:NAME or EVROUTE_WRITE_KEY',
    )
    .option(
      '--flush-at <n>',
      'calls in each batch (default: from 20 to 250)',
      countFlag(1, limits.intakeBatchEventsMax),
    )
    .option(
      '--flush-after <duration>',
      'flush at least so often (default: 5s)',
      durationFlagUpTo(flushAfterMsMax),
    )
    .option(
      '--store <url>',
      `keep what is not delivered yet there; the next run goes on: ${storeForms}`,
    )
    .option(
      '--retry-for <duration>',
      'retry a delivery so long, at most 4h (default: 60s)',
      durationFlag,
    )
    .option(
      '--timeout <duration>',
      'time to answer a request, at most 5s (default: 5s)',
      durationFlag,
    )
    .addOption(
      new Option('--clock <kind>', 'virtual: waiting for the next retry takes no time')
        .choices(['real', 'virtual'])
        .default('real'),
    )
    .option('-n, --dry-run', 'show what would be sent, and send nothing')
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
    store: store === 'memory:' ? undefined : store,
    flushAt: flags.flushAt,
    flushAfterMs: flags.flushAfter,
    retryForMs: within('--retry-for', flags.retryFor ?? retryForDefaultMs, [
      0,
      limits.retryWindowMs,
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
  const headers = flags.header ?? {}
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

/** A store outlives the command, so it must contain nothing that did not happen. */
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
 * The source of calls to an ad-hoc destination. Each destination has its own. Otherwise a call that was sent
 * to one destination would be a duplicate for the next.
 */
export function sourceIdOf({ sourceIds: [sourceId = commandLineSourceId] }: Destination): string {
  return sourceId
}

/** The same URLs always give the same id. It contains the host, for people. */
function adHocDestinationId(urls: readonly string[]): string {
  const hash = createHash('sha256')
    .update([...urls].sort().join('\n'))
    .digest('hex')
  const host = new URL(urls[0] ?? defaultUrl).host.replaceAll(/[^a-z0-9.]/g, '-')
  return `to-${host.slice(0, 40)}-${hash.slice(0, 8)}`
}
