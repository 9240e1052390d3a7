import { checkOptionNames, checkWholeNumber, SettingError, shortText } from '../model/index.ts'
import { createRuntime, type Runtime } from '../runtime/index.ts'
import {
  delayMsMax,
  faults,
  isFault,
  readPlans,
  seededRandom,
  tlsKinds,
  type DelayRange,
  type Fault,
  type PlansInput,
  type TlsKind,
} from './faults/index.ts'
import type { NamedSecret } from './diagnosis/index.ts'
import { checkForwarding, type ForwardTarget } from './forward.ts'

/** How a receiver listens, verifies, answers and forwards. Every option has a default. */
export interface ReceiverOptions {
  /** The address to bind; default `127.0.0.1`, which only this machine can reach. */
  readonly host?: string | undefined
  /** The port of the first endpoint; the others use the next ports. With 0, the default, each gets a free port. */
  readonly port?: number | undefined
  /** The number of endpoints, each with its own port: 1 to 5, default 1. */
  readonly endpoints?: number | undefined
  /** Serves HTTPS with a new certificate of this kind; default HTTP. */
  readonly tls?: TlsKind | undefined
  /** The shared secret for verifying signatures; by default they are not checked. */
  readonly secret?: string | undefined
  /** Secrets that a sender may use by mistake, such as those of other destinations. The first 50 are tried. */
  readonly otherSecrets?: readonly NamedSecret[] | undefined
  /** Answers 401 to an invalid or missing signature; needs a secret; default false. */
  readonly strict?: boolean | undefined
  /**
   * The answers to well-formed webhooks, in order; the last one repeats. A status, a text such as `503x3,200` or
   * `type=track:reset`, a plan, or several plans for different webhooks; default 200.
   */
  readonly respond?: PlansInput | undefined
  /** The delay of each answer in milliseconds, or a range for a random delay; at most an hour, default 0. */
  readonly delayMs?: number | DelayRange | undefined
  /** The share of well-formed webhooks that fail at random, from 0 to 1; default 0, or 1 with `fault`. */
  readonly failShare?: number | undefined
  /** The fault that failing webhooks get instead of a 500. */
  readonly fault?: Fault | undefined
  /** Where to forward webhooks that would be answered 2xx. Their senders get the target's status. Default: nowhere. */
  readonly forwardTo?: readonly ForwardTarget[] | undefined
  /** How long a target may take to answer, in milliseconds; 0 for no limit; default 5 s. */
  readonly forwardTimeoutMs?: number | undefined
  /**
   * Whether to pass on requests from a web page on a different origin and, if a secret is set, requests without a valid
   * signature; default false.
   */
  readonly allowUnverified?: boolean | undefined
  /** Makes the page show which requests must not be passed on; default false, but always on with `forwardTo`. */
  readonly passesOn?: boolean | undefined
  /** Headers to set on forwarded requests; they replace headers of the same name. */
  readonly forwardHeaders?: Readonly<Record<string, string>> | undefined
  /** Accepts any certificate from a target, even a self-signed one; default false. */
  readonly forwardInsecure?: boolean | undefined
  /** Which requests to forward, as a match such as `type:track`; default all. */
  readonly forwardFilter?: string | undefined
  /** Lets other machines use the API with `Authorization: Bearer <token>`; default none. */
  readonly token?: string | undefined
  /** Random seed, to reproduce a run: a whole number. */
  readonly seed?: number | undefined
  /** Maximum number of events in memory, at most 100,000; default 1,000. */
  readonly eventsMax?: number | undefined
  /** Clock, randomness, ids and log; the system's by default. */
  readonly runtime?: Runtime | undefined
}

/** Returns those of the options that are a receiver's. */
export function receiverOptionsIn(options: ReceiverOptions): ReceiverOptions {
  const known = Object.entries(options).filter(([name]) => Object.hasOwn(optionNames, name))
  return Object.fromEntries(known)
}

/** The options of a receiver, checked, complete and frozen. */
export type ReceiverSettings = ReturnType<typeof checkReceiverOptions>

const optionNames: Readonly<Record<keyof ReceiverOptions, true>> = {
  host: true,
  port: true,
  endpoints: true,
  tls: true,
  secret: true,
  otherSecrets: true,
  strict: true,
  respond: true,
  delayMs: true,
  failShare: true,
  fault: true,
  forwardTo: true,
  forwardTimeoutMs: true,
  allowUnverified: true,
  passesOn: true,
  forwardHeaders: true,
  forwardInsecure: true,
  forwardFilter: true,
  token: true,
  seed: true,
  eventsMax: true,
  runtime: true,
}

const portMax = 65_535
const endpointsMax = 5
const eventsMaxDefault = 1_000
const eventsMaxLimit = 100_000

/** Copies, completes, checks and freezes options. Throws a SettingError with the option and its accepted values. */
export function checkReceiverOptions(options: ReceiverOptions = {}) {
  checkOptionNames(options, optionNames)
  const { seed, runtime = createRuntime(), endpoints = 1, port = 0 } = options
  checkWholeNumber('endpoints', endpoints, [1, endpointsMax])
  checkWholeNumber('port', port, [0, portMax + 1 - endpoints])
  if (seed !== undefined) checkWholeNumber('seed', seed, [0, Number.MAX_SAFE_INTEGER])
  const settings = {
    host: options.host ?? '127.0.0.1',
    port,
    endpoints,
    tls: checkTls(options.tls),
    secret: options.secret,
    otherSecrets: Object.freeze([...(options.otherSecrets ?? [])]),
    strict: options.strict ?? false,
    injections: checkInjections(options, endpoints),
    token: options.token,
    forwarding: checkForwarding(options),
    passesOn: options.passesOn === true,
    /** Returns a number from 0 up to, but not including, 1. */
    random: seed === undefined ? runtime.random : seededRandom(seed),
    eventsMax: options.eventsMax ?? eventsMaxDefault,
    runtime,
  }
  checkWholeNumber('eventsMax', settings.eventsMax, [0, eventsMaxLimit])
  if (settings.host === '') {
    throw new SettingError('host', 'Cannot listen on an empty host', 'Name an address to bind.')
  }
  checkSecret(settings)
  return Object.freeze(settings)
}

function checkInjections(options: ReceiverOptions, endpoints: number) {
  const { respond, fault, delayMs = 0 } = options
  return Object.freeze({
    respond: respond === undefined ? [] : readPlans(respond, endpoints),
    delay: checkDelay(delayMs),
    failShare: checkFailShare(options),
    failure: fault ?? 500,
  })
}

function checkFailShare({ respond, fault, failShare }: ReceiverOptions): number {
  if (fault !== undefined && !isFault(fault)) throw unknownName('fault', fault, faults)
  if (fault !== undefined && failShare === undefined && respond !== undefined) {
    throw new SettingError(
      'fault',
      'Cannot use a plan together with a fault that every webhook gets',
      'Put the fault into the plan, as in reset,200. Or set the share of webhooks that get the fault.',
    )
  }
  const share = failShare ?? (fault === undefined ? 0 : 1)
  if (share >= 0 && share <= 1) return share
  throw new SettingError('failShare', `Cannot use failShare ${share}: it must be from 0 to 1`)
}

function checkDelay(delay: number | DelayRange): DelayRange {
  const { fromMs, toMs } = typeof delay === 'number' ? { fromMs: delay, toMs: delay } : delay
  checkWholeNumber('delayMs', fromMs, [0, delayMsMax])
  checkWholeNumber('delayMs', toMs, [fromMs, delayMsMax])
  return Object.freeze({ fromMs, toMs })
}

function checkTls(tls: TlsKind | undefined): TlsKind | undefined {
  if (tls === undefined || tlsKinds.includes(tls)) return tls
  throw unknownName('tls', tls, tlsKinds)
}

function unknownName(setting: string, name: unknown, known: readonly string[]): SettingError {
  const text = shortText(String(name))
  return new SettingError(
    setting,
    `Cannot use ${setting} ${text}: it must be one of ${known.join(', ')}`,
  )
}

function checkSecret({ secret, strict }: Pick<ReceiverOptions, 'secret' | 'strict'>): void {
  if (secret === '') {
    throw new SettingError(
      'secret',
      'Cannot check signatures with an empty secret',
      'Leave out the secret to accept webhooks without checking signatures.',
    )
  }
  if (strict === true && secret === undefined) {
    throw new SettingError(
      'strict',
      'Cannot require valid signatures without a secret',
      'Give the secret that the sender signs webhooks with.',
    )
  }
}
