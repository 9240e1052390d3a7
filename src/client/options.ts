import {
  checkOptionNames,
  checkUrl,
  checkWholeNumber,
  limits,
  SettingError,
} from '../model/index.ts'
import { createRuntime, type Runtime } from '../runtime/index.ts'
import { createHttpTransport } from './http-transport.ts'
import type { Transport } from './transport.ts'

/** How a client works. Every option has a default. */
export interface ClientOptions {
  /**
   * The request URL, http or https; `http://127.0.0.1:4000/v1/batch` by default. Node checks certificates:
   * NODE_EXTRA_CA_CERTS adds authorities, and NODE_TLS_REJECT_UNAUTHORIZED=0 turns the check off. The client also uses
   * the options of Node's global agent, except its timeout.
   */
  readonly endpoint?: string | undefined
  /**
   * Number of calls in a full batch, 1 to 2,500; 20 by default. A full batch is sent at once if fewer than 4 batches
   * are in flight.
   */
  readonly flushAt?: number | undefined
  /** A synonym for `flushAt`. */
  readonly size?: number | undefined
  /**
   * Maximum number of calls in a merged batch, `flushAt` to 2,500; `flushAt` by default. While 4 batches are in flight,
   * waiting batches are merged up to this size. With the default, full batches are not merged. With a larger number,
   * the client sends fewer and larger requests if calls come faster than the endpoint answers. No request exceeds
   * 500,000 bytes.
   */
  readonly batchMax?: number | undefined
  /** Interval at which incomplete batches are sent, in milliseconds, 0 to 86,400,000; 5,000 by default. */
  readonly flushAfterMs?: number | undefined
  /** Maximum number of calls queued or in flight, 1 to 1,000,000; 10,000 by default. */
  readonly queueMax?: number | undefined
  /** How long one request may take, in milliseconds, 1 to 300,000; 10,000 by default. */
  readonly timeoutMs?: number | undefined
  /** If true, the client sends nothing and every call returns `disabled`; false by default. */
  readonly disabled?: boolean | undefined
  /** Replaces HTTP; `endpoint` and `timeoutMs` then have no effect. */
  readonly transport?: Transport | undefined
  /** Replacements for parts of the runtime: clock, randomness, ids, log. */
  readonly runtime?: Partial<Runtime> | undefined
}

/** The options of a client, checked, with defaults filled in. */
export type ClientSettings = ReturnType<typeof clientSettings>

const optionNames: Readonly<Record<keyof ClientOptions, true>> = {
  endpoint: true,
  flushAt: true,
  size: true,
  batchMax: true,
  flushAfterMs: true,
  queueMax: true,
  timeoutMs: true,
  disabled: true,
  transport: true,
  runtime: true,
}

const batchCallsMax = limits.intakeBatchEventsMax

/** Long enough for any key. Short enough that the largest call always fits into a batch. */
const writeKeyLengthMax = 1_000

/** Copies, checks and freezes the options of a client. Throws SettingError for an invalid value. */
export function clientSettings(writeKey: string, options: ClientOptions = {}) {
  checkOptionNames(options, optionNames)
  const runtime = createRuntime(options.runtime)
  const endpoint = checkUrl('endpoint', options.endpoint ?? 'http://127.0.0.1:4000/v1/batch')
  const timeoutMs = checkWholeNumber('timeoutMs', options.timeoutMs ?? 10_000, [1, 300_000])
  checkWriteKey(writeKey)
  const flushAt = checkFlushAt(options)
  return Object.freeze({
    writeKey,
    flushAt,
    batchMax: checkWholeNumber('batchMax', options.batchMax ?? flushAt, [flushAt, batchCallsMax]),
    flushAfterMs: checkWholeNumber('flushAfterMs', options.flushAfterMs ?? 5_000, [0, 86_400_000]),
    queueMax: checkWholeNumber('queueMax', options.queueMax ?? 10_000, [1, 1_000_000]),
    disabled: checkDisabled(options.disabled ?? false),
    transport:
      checkTransport(options.transport) ??
      createHttpTransport({ endpoint, writeKey, timeoutMs, clock: runtime.clock }),
    runtime,
  })
}

function checkFlushAt({ flushAt, size }: ClientOptions): number {
  if (flushAt !== undefined && size !== undefined && flushAt !== size) {
    throw new SettingError(
      'size',
      `Cannot use size ${size} and flushAt ${flushAt}: they are two names for the same setting`,
      'Pass only one of them.',
    )
  }
  const setting = flushAt === undefined && size !== undefined ? 'size' : 'flushAt'
  return checkWholeNumber(setting, flushAt ?? size ?? 20, [1, batchCallsMax])
}

function checkWriteKey(writeKey: unknown): void {
  if (typeof writeKey !== 'string' || writeKey === '' || writeKey.length > writeKeyLengthMax) {
    throw new SettingError(
      'writeKey',
      `Cannot use this write key: it must be a string of 1 to ${writeKeyLengthMax} characters`,
      'Pass the write key of the source as the first argument.',
    )
  }
  if (writeKey.includes(':')) {
    throw new SettingError(
      'writeKey',
      'Cannot use a write key with a colon: Basic authentication would cut it off there',
    )
  }
}

function checkDisabled(disabled: unknown): boolean {
  if (typeof disabled === 'boolean') return disabled
  throw new SettingError(
    'disabled',
    `Cannot use ${String(disabled)} as "disabled": it must be true or false`,
  )
}

function checkTransport(transport: Transport | undefined): Transport | undefined {
  if (transport === undefined) return undefined
  const given = transport as Partial<Record<keyof Transport, unknown>> | null
  if (typeof given?.send === 'function' && typeof given.close === 'function') return transport
  throw new SettingError(
    'transport',
    'Cannot use this transport: it lacks the method send or close',
  )
}
