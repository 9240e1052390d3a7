import { createHash } from 'node:crypto'
import type { EventFilter } from '../../match/index.ts'
import { fullUrl, limits, parseUrl, SettingError, type Destination } from '../../model/index.ts'
import { checkDestination } from '../../webhook/index.ts'
import { flag, inGroup, option, withDefaults, type ValuesOf } from '../command.ts'
import {
  choiceOf,
  countFlag,
  durationUpTo,
  headerFlag,
  repeatable,
  outputOptions,
} from '../flags.ts'
import type { Io } from '../io.ts'
import { readGiven, readHeaders, readSecret } from '../secret.ts'
import type { TimeShiftBy } from './captured-request.ts'

/** The default target of `send` and `replay`: the default address of `listen`. */
export const defaultUrl = 'http://127.0.0.1:4100/'
const retryForDefaultMs = 60_000
/** The maximum flush interval that the client accepts. */
const flushAfterMsMax = 24 * 60 * 60 * 1_000

/** Where calls or captured requests go. */
export type SendingTarget = WebhookTarget | ServiceTarget | CapturedTarget | ConfiguredTarget

/** The endpoints of webhooks that this process sends. */
export interface WebhookTarget {
  readonly kind: 'webhooks'
  readonly destination: Destination
}

/** Where captured requests are sent again, as they were received. */
export interface CapturedTarget {
  readonly kind: 'captured'
  readonly destination: Destination
  /** The secret for signing requests again; undefined to keep the signatures. */
  readonly newSecret: string | undefined
  /** How to move the timestamps in bodies; undefined to keep them. */
  readonly shiftBy: TimeShiftBy | undefined
}

/** The service to which calls are posted. */
export interface ServiceTarget {
  readonly kind: 'service'
  readonly endpoint: string
  readonly writeKey: string
}

/** A source and the destinations of a configuration. Calls are planned for them, never sent. */
export interface ConfiguredTarget {
  readonly kind: 'configured'
  readonly sourceId: string
  readonly destinations: readonly Destination[]
}

/** The options that describe the endpoints of webhooks. */
export const webhookOptions = inGroup('Where to:', {
  to: option('--to <url>', 'endpoint, repeatable [EVROUTE_URL or port 4100]', repeatable),
  headers: option('-H, --header <name: value>', 'static header, repeatable', headerFlag),
  secret: option('--secret <value>', 'signing secret: @file, env:NAME [EVROUTE_SECRET]'),
})

/** The options that `send` and `replay` share. */
export const sendingOptions = {
  ...webhookOptions,
  ...inGroup('Where to:', {
    endpoint: option('--endpoint <url>', "send to a service's tracking API instead"),
    writeKey: option('--write-key <key>', 'the write key for --endpoint [EVROUTE_WRITE_KEY]'),
  }),
  ...inGroup('Delivery:', {
    only: option('--only <match>', "send only what matches, such as 'type:track'"),
    store: option('--store <url>', 'keep undelivered webhooks here and resume later'),
    retryForMs: option(
      '--retry-for <duration>',
      'how long to retry, up to 30d; 0s: not at all [60s]',
      durationUpTo(limits.retryWindowMsMax),
    ),
    timeoutMs: option(
      '--timeout <duration>',
      'time limit for an answer, at most 5s [5s]',
      durationUpTo(limits.endpointDeadlineMs, 1),
    ).or(limits.endpointDeadlineMs),
    clock: option(
      '--clock <kind>',
      'real, or virtual to skip waits for retries',
      choiceOf(['real', 'virtual']),
    ),
    flushAt: option(
      '--flush-at <n>',
      'calls in a batch [20; 250 if many wait]',
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

/** The checked options, with a target for calls. `replay` uses another target for files with captured requests. */
export type GivenSendingOptions = Awaited<ReturnType<typeof readSendingOptions>>

/** The options that `send` and `replay` share, checked and with secrets read. */
export type SendingOptions = Omit<GivenSendingOptions, 'target'> & {
  readonly target: SendingTarget
}

/** Checks the shared options. Reads the secret or the write key, and the URL of the store. */
export async function readSendingOptions(given: Partial<SendingValues>, io: Io) {
  const values = withDefaults(sendingOptions, given)
  refuseBesideStore(values)
  const target = await readTarget(values, io)
  const store = await readGiven(values.store, io, '--store')
  const { retryForMs = retryForDefaultMs, clock, only } = values
  return {
    ...{ ...values, target, retryForMs, virtualClock: clock === 'virtual' },
    /** Which rows to send; undefined for all. */
    only: only === undefined ? undefined : await readOnly(only),
    /** The URL of the store; undefined to keep undelivered webhooks in memory. */
    store: store === 'memory:' ? undefined : store,
  }
}

async function readOnly(text: string): Promise<EventFilter> {
  // Import here: most runs don't need the match language.
  const { EventFilter } = await import('../../match/index.ts')
  return new EventFilter(text)
}

async function readTarget(values: SendingValues, io: Io): Promise<WebhookTarget | ServiceTarget> {
  const endpoint = values.endpoint ?? (io.env['EVROUTE_ENDPOINT'] || undefined)
  if (endpoint !== undefined && (values.endpoint !== undefined || values.to === undefined)) {
    return serviceTarget(fullUrl(endpoint), values, io)
  }
  if (values.writeKey !== undefined) {
    throw new SettingError(
      '--write-key',
      'Cannot use --write-key without --endpoint: webhooks need no write key',
      'Name the service with --endpoint or EVROUTE_ENDPOINT.',
    )
  }
  // `run` sets EVROUTE_URL to the URL of its receiver.
  const urls = values.to ?? [io.env['EVROUTE_URL'] || defaultUrl]
  const headers = await readHeaders(values.headers, io)
  const given = checkDestination({
    id: 'to',
    sourceIds: [],
    endpoints: urls.map((url) => ({ url: fullUrl(url), headers })),
    sharedSecret: await readSecret(values.secret, io),
  })
  const id = destinationIdFor(given.endpoints.map(({ url }) => url))
  const destination = { ...given, id, sourceIds: [`${commandLineSourceId}:${id}`] }
  return { kind: 'webhooks', destination }
}

/** Options that only apply to webhooks. With a service, they are refused, not ignored. */
const ofWebhooks = ['to', 'headers', 'secret', 'store', 'retryForMs'] as const

async function serviceTarget(
  endpoint: string,
  values: SendingValues,
  io: Io,
): Promise<ServiceTarget> {
  const unused = ofWebhooks.find((name) => values[name] !== undefined)
  if (unused !== undefined) {
    const flag = sendingOptions[unused].long ?? ''
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
  const url = parseUrl(endpoint)
  // Like Segment's libraries, accept the URL without a path.
  const batchUrl = url?.pathname === '/' ? new URL('/v1/batch', url).href : endpoint
  return { kind: 'service', endpoint: batchUrl, writeKey }
}

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
      'Cannot use --store together with --clock virtual: the store would contain times in the future',
    )
  }
}

/** The prefix of the source ids of calls from the command line: `cli:<destination id>`. */
export const commandLineSourceId = 'cli'

/**
 * Returns the source of a destination that a command made. Each has its own: if two shared one, a call to the second
 * would count as a duplicate.
 */
export function sourceIdOf({ sourceIds: [sourceId = commandLineSourceId] }: Destination): string {
  return sourceId
}

/** Makes an id that is the same whenever the URLs are the same. It contains the host, so that people recognise it. */
function destinationIdFor(urls: readonly string[]): string {
  const hash = createHash('sha256')
    .update([...urls].sort().join('\n'))
    .digest('hex')
  const host = new URL(urls[0] ?? defaultUrl).host.replaceAll(/[^a-z0-9.]/g, '-')
  return `to-${host.slice(0, 40)}-${hash.slice(0, 8)}`
}
