import { createHash } from 'node:crypto'
import type { EventFilter } from '../../match/index.ts'
import {
  formatDuration,
  limits,
  parseUrl,
  SettingError,
  type Destination,
} from '../../model/index.ts'
import { bodyStyles, checkDestination, type BodyStyle } from '../../webhook/index.ts'
import { flag, inGroup, option, withDefaults, type ValuesOf } from '../command.ts'
import {
  choiceOf,
  countFlag,
  duration,
  durationUpTo,
  headerFlag,
  repeatable,
  outputOptions,
  type OutputValues,
} from '../flags.ts'
import type { Io } from '../io.ts'
import { readGiven, readHeaders, readSecret } from '../secret.ts'
import type { TimeShiftBy } from './captured-request.ts'

/** The default target of `send` and `replay`: the default address of `listen`. */
export const defaultUrl = 'http://127.0.0.1:4100/'
const retryForDefaultMs = 60_000
/** The maximum flush interval that the client accepts. */
const flushAfterMsMax = 24 * 60 * 60 * 1_000

/**
 * Where calls go: through client, router and sender in this process to webhook endpoints, or through the client
 * to a service. Captured requests go to webhook endpoints unchanged. For the sources and
 * destinations of a configuration, calls are only planned.
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
  /** The secret for signing requests again; undefined to keep the signatures. */
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

/** The options for webhook endpoints. */
export const webhookOptions = inGroup('Where to:', {
  to: option('--to <url>', 'endpoint, up to 5 [EVROUTE_URL or port 4100]', repeatable),
  headers: option('-H, --header <name: value>', 'static header, repeatable', headerFlag),
  secret: option('--secret <value>', 'sign: text, @file or env:NAME [EVROUTE_SECRET]'),
})

/** The options that `send` and `replay` share. */
export const sendingOptions = {
  ...webhookOptions,
  ...inGroup('Where to:', {
    bodyStyle: option(
      '--body-style <style>',
      `write JSON as: ${bodyStyles.join(', ')}`,
      choiceOf(bodyStyles),
    ),
    endpoint: option('--endpoint <url>', "send to a service's tracking API instead"),
    writeKey: option('--write-key <key>', 'its write key [EVROUTE_WRITE_KEY]'),
  }),
  ...inGroup('Delivery:', {
    only: option('--only <match>', "send only what matches: 'type:track'"),
    store: option('--store <url>', 'keep undelivered webhooks here and resume later'),
    retryForMs: option('--retry-for <duration>', 'retry a delivery for up to 30d [60s]', duration),
    timeoutMs: option(
      '--timeout <duration>',
      'time limit for an answer, at most 5s [5s]',
      duration,
    ).or(limits.endpointDeadlineMs),
    clock: option(
      '--clock <kind>',
      'real or virtual; virtual retries at once [real]',
      choiceOf(['real', 'virtual']),
    ),
    flushAt: option(
      '--flush-at <n>',
      'calls in a batch [20 to 250]',
      countFlag(1, limits.intakeBatchEventsMax),
    ),
    flushAfterMs: option(
      '--flush-after <duration>',
      'flush interval [5s]',
      durationUpTo(flushAfterMsMax),
    ),
    dryRun: flag('-n, --dry-run', 'show what would be sent; send nothing'),
  }),
  ...outputOptions(),
}

type SendingValues = ValuesOf<typeof sendingOptions>

/** The options that `send` and `replay` share, checked and with secrets read. */
export interface SendingOptions
  extends OutputValues, Pick<SendingValues, 'flushAt' | 'flushAfterMs' | 'timeoutMs' | 'dryRun'> {
  readonly target: SendingTarget
  /** Which rows to send; undefined for all. */
  readonly only: EventFilter | undefined
  /** The URL of the store for undelivered webhooks; undefined to keep them in memory. */
  readonly store: string | undefined
  readonly retryForMs: number
  readonly virtualClock: boolean
}

/** The options before it is known whether the input contains calls or captured requests. */
export interface GivenSendingOptions extends SendingOptions {
  readonly target: WebhookTarget | ServiceTarget
}

/** Checks the shared options, and reads the secret or the write key and the store. */
export async function readSendingOptions(
  given: Partial<SendingValues>,
  io: Io,
): Promise<GivenSendingOptions> {
  const values = withDefaults(sendingOptions, given)
  refuseBesideStore(values)
  const target = await readTarget(values, io)
  const store = await readGiven(values.store, io, '--store')
  const { retryForMs = retryForDefaultMs, timeoutMs, clock } = values
  checkRange('--retry-for', retryForMs, [0, limits.retryWindowMsMax])
  checkRange('--timeout', timeoutMs, [1, limits.endpointDeadlineMs])
  return {
    ...{ ...values, target, retryForMs, virtualClock: clock === 'virtual' },
    only: await readOnly(values.only),
    store: store === 'memory:' ? undefined : store,
  }
}

async function readOnly(text: string | undefined): Promise<EventFilter | undefined> {
  if (text === undefined) return undefined
  // Import here: most runs don't need the match language.
  const { EventFilter } = await import('../../match/index.ts')
  return new EventFilter(text)
}

async function readTarget(values: SendingValues, io: Io): Promise<WebhookTarget | ServiceTarget> {
  const endpoint = values.endpoint ?? (io.env['EVROUTE_ENDPOINT'] || undefined)
  if (endpoint !== undefined && (values.endpoint !== undefined || values.to === undefined)) {
    return serviceTarget(endpoint, values, io)
  }
  if (values.writeKey !== undefined) {
    throw new SettingError(
      '--write-key',
      'Cannot use --write-key without --endpoint: webhooks need none',
      'Name the service with --endpoint or EVROUTE_ENDPOINT.',
    )
  }
  // `run` sets EVROUTE_URL to the URL of its receiver.
  const urls = values.to ?? [io.env['EVROUTE_URL'] || defaultUrl]
  const headers = await readHeaders(values.headers, io)
  const given = checkDestination({
    id: 'to',
    sourceIds: [],
    endpoints: urls.map((url) => ({ url, headers })),
    sharedSecret: await readSecret(values.secret, io),
  })
  const id = adHocDestinationId(given.endpoints.map(({ url }) => url))
  const destination = { ...given, id, sourceIds: [`${commandLineSourceId}:${id}`] }
  return { kind: 'webhooks', destination, bodyStyle: values.bodyStyle }
}

/** Options that only apply to webhooks. With a service, they are refused, not ignored. */
const ofWebhooks = ['to', 'headers', 'secret', 'bodyStyle', 'store', 'retryForMs'] as const

/** Accepts the request URL of a service, or its host, as Segment's libraries do. */
function requestUrl(endpoint: string): string {
  const url = parseUrl(endpoint)
  return url?.pathname === '/' ? new URL('/v1/batch', url).href : endpoint
}

async function serviceTarget(
  endpoint: string,
  values: SendingValues,
  io: Io,
): Promise<ServiceTarget> {
  const unused = ofWebhooks.find((name) => values[name] !== undefined)
  if (unused !== undefined) {
    const flag = sendingOptions[unused].build().long ?? ''
    throw new SettingError(
      flag,
      `Cannot use ${flag} together with a service, which has its own settings for sending`,
      `The service is ${endpoint}. To send webhooks yourself, omit --endpoint and unset EVROUTE_ENDPOINT.`,
    )
  }
  const given = (values.writeKey ?? io.env['EVROUTE_WRITE_KEY']) || undefined
  const writeKey = await readGiven(given, io, '--write-key')
  if (writeKey === undefined) {
    throw new SettingError(
      '--write-key',
      'Cannot send to a service without a write key',
      'Pass --write-key <value>, env:NAME or @file, or set EVROUTE_WRITE_KEY.',
    )
  }
  return { kind: 'service', endpoint: requestUrl(endpoint), writeKey }
}

/** Refuses flags that would put invented results into a store, which outlives the command. */
function refuseBesideStore({ store, dryRun, clock }: SendingValues): void {
  if (store === undefined) return
  if (dryRun) {
    throw new SettingError(
      '--store',
      'Cannot use --store together with --dry-run: a dry run stores nothing',
    )
  }
  if (clock === 'virtual') {
    throw new SettingError(
      '--store',
      'Cannot use --store together with --clock virtual: the store would hold times that have not come',
    )
  }
}

function checkRange(
  flag: string,
  durationMs: number,
  [minMs, maxMs]: readonly [number, number],
): void {
  if (durationMs >= minMs && durationMs <= maxMs) return
  throw new SettingError(
    flag,
    `Cannot use ${flag} ${formatDuration(durationMs)}: it must be between ${formatDuration(minMs)} and ${formatDuration(maxMs)}`,
  )
}

/** The source of all calls from the command line. */
export const commandLineSourceId = 'cli'

/**
 * Returns the source of calls to an ad-hoc destination. Each destination has its own source. Otherwise, a call
 * that was sent to one destination would count as a duplicate for the next.
 */
export function sourceIdOf({ sourceIds: [sourceId = commandLineSourceId] }: Destination): string {
  return sourceId
}

/** Makes the id of an ad-hoc destination: stable for the same URLs, and readable, because it has the host. */
function adHocDestinationId(urls: readonly string[]): string {
  const hash = createHash('sha256')
    .update([...urls].sort().join('\n'))
    .digest('hex')
  const host = new URL(urls[0] ?? defaultUrl).host.replaceAll(/[^a-z0-9.]/g, '-')
  return `to-${host.slice(0, 40)}-${hash.slice(0, 8)}`
}
