import { SettingError } from '../model/index.ts'
import { createRuntime, type Runtime } from '../runtime/index.ts'

/** What a receiver is made of; all of it may be left out. */
export interface ReceiverOptions {
  /** The address to bind; default `127.0.0.1`, which only this machine reaches. */
  readonly host?: string | undefined
  /** The port to bind; default 0, a free one. */
  readonly port?: number | undefined
  /** The shared secret that signatures are checked with; without one they are not checked. */
  readonly secret?: string | undefined
  /** Answers 401 to an invalid or missing signature; needs a secret; default false. */
  readonly strict?: boolean | undefined
  /** The status that well-formed webhooks are answered with: 200 to 599, default 200. */
  readonly status?: number | undefined
  /** How long to wait before each answer, in milliseconds: at most an hour, default 0. */
  readonly delayMs?: number | undefined
  /** How many received events stay in memory, at most 100,000; default 1,000. */
  readonly eventsMax?: number | undefined
  /** Clock, log and the rest; the production bundle by default. */
  readonly runtime?: Runtime | undefined
}

/** The options of a receiver, checked, complete and frozen. */
export interface ReceiverSettings {
  /** The address to bind. */
  readonly host: string
  /** The port to bind, or 0 for a free one. */
  readonly port: number
  /** The shared secret; undefined when signatures are not checked. */
  readonly secret: string | undefined
  /** Whether an invalid or missing signature is answered 401. */
  readonly strict: boolean
  /** The status that well-formed webhooks are answered with. */
  readonly status: number
  /** How long to wait before each answer, in milliseconds. */
  readonly delayMs: number
  /** How many received events stay in memory. */
  readonly eventsMax: number
  /** Clock, log and the rest. */
  readonly runtime: Runtime
}

const portMax = 65_535
const delayMsMax = 60 * 60 * 1_000
const eventsMaxDefault = 1_000
const eventsMaxLimit = 100_000

/**
 * Copies, completes, checks and freezes the options of a receiver.
 *
 * @throws SettingError naming the option and what it accepts
 */
export function checkReceiverOptions(options: ReceiverOptions = {}): ReceiverSettings {
  const settings: ReceiverSettings = {
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    secret: options.secret,
    strict: options.strict ?? false,
    status: options.status ?? 200,
    delayMs: options.delayMs ?? 0,
    eventsMax: options.eventsMax ?? eventsMaxDefault,
    runtime: options.runtime ?? createRuntime(),
  }
  checkWholeNumber('port', settings.port, [0, portMax])
  checkWholeNumber('status', settings.status, [200, 599])
  checkWholeNumber('delayMs', settings.delayMs, [0, delayMsMax])
  checkWholeNumber('eventsMax', settings.eventsMax, [0, eventsMaxLimit])
  if (settings.host === '') {
    throw new SettingError('host', 'Cannot listen on an empty host', 'Name an address to bind.')
  }
  checkSecret(settings)
  return Object.freeze(settings)
}

function checkWholeNumber(setting: string, value: number, range: readonly [number, number]): void {
  const [lowest, highest] = range
  if (Number.isInteger(value) && value >= lowest && value <= highest) return
  throw new SettingError(
    setting,
    `Cannot use ${setting} ${value}: it is a whole number from ${lowest} to ${highest}`,
  )
}

function checkSecret({ secret, strict }: ReceiverSettings): void {
  if (secret === '') {
    throw new SettingError(
      'secret',
      'Cannot check signatures with an empty secret',
      'Leave the secret out to accept webhooks without a check.',
    )
  }
  if (strict && secret === undefined) {
    throw new SettingError(
      'strict',
      'Cannot be strict about signatures without a secret',
      'Give the shared secret of the webhooks that should arrive.',
    )
  }
}
