import { SettingError, shortText, type DeliveryState } from '../../model/index.ts'
import type { ReceiverOptions } from '../settings.ts'

/** A row of the specification's table of errors, as settings of a receiver. */
export interface Scenario {
  readonly name: 'timeout' | '5xx-then-ok' | 'down-4h' | 'self-signed' | 'any-succeeds' | 'flaky'
  /** The rule, as the specification words it. */
  readonly rule: string
  readonly settings: Pick<ReceiverOptions, 'respond' | 'failShare' | 'seed' | 'tls' | 'endpoints'>
  /** How many webhooks to send. */
  readonly webhooks: number
  readonly expected: {
    readonly state: DeliveryState
    /** Minimum and maximum requests for each webhook, over all endpoints. */
    readonly requests: readonly [min: number, max: number]
    /** The error of every failed request. */
    readonly error: string
    /** The required outcome, as a text for people. */
    readonly text: string
  }
}

const retriedFor4h =
  'Response with a 5xx status: the request is retried multiple times, for at most 4 hours.'

/** A scenario for each row in the specification's table of errors. */
export const scenarios: readonly Scenario[] = Object.freeze([
  {
    name: 'timeout',
    rule: 'No response within 5 seconds: a timeout error is logged and the event is retried later.',
    settings: { respond: 'hang,200' },
    webhooks: 1,
    expected: {
      state: 'delivered',
      requests: [2, 2],
      error: 'timeout',
      text: 'timed out, then delivered by the retry',
    },
  },
  {
    name: '5xx-then-ok',
    rule: retriedFor4h,
    settings: { respond: '503x3,200' },
    webhooks: 1,
    expected: {
      state: 'delivered',
      requests: [4, 4],
      error: 'status_503',
      text: 'answered 503 three times, then delivered by the fourth request',
    },
  },
  {
    name: 'down-4h',
    rule: retriedFor4h,
    settings: { respond: 503 },
    webhooks: 1,
    expected: {
      state: 'expired',
      // The schedule has ten requests; jitter adds or removes some.
      requests: [9, 12],
      error: 'status_503',
      text: 'retried for four hours, then expired',
    },
  },
  {
    name: 'self-signed',
    rule: 'HTTPS endpoint with a self-signed certificate: an error is raised and no request is sent.',
    settings: { tls: 'self-signed' },
    webhooks: 1,
    expected: {
      state: 'failed',
      requests: [0, 0],
      error: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      text: 'failed because of the certificate, and no request arrived',
    },
  },
  {
    name: 'any-succeeds',
    rule: 'Several URLs are configured, and one of them accepts: the message counts as successfully processed. No retry goes to the other URLs.',
    settings: { endpoints: 5, respond: ['503', 'endpoint=3:200'] },
    webhooks: 1,
    expected: {
      state: 'delivered',
      requests: [5, 5],
      error: 'status_503',
      text: 'one of five endpoints accepted it, and it was not sent again',
    },
  },
  {
    name: 'flaky',
    rule: retriedFor4h,
    settings: { failShare: 0.5, seed: 1 },
    webhooks: 20,
    expected: {
      state: 'delivered',
      requests: [1, 12],
      error: 'status_500',
      text: 'half of the requests fail at random, but retries deliver every webhook',
    },
  },
] as const satisfies readonly Scenario[])

/** Returns the scenario with a name. Throws a SettingError that lists the known names. */
export function scenarioNamed(name: string): Scenario {
  const scenario = scenarios.find((each) => each.name === name)
  if (scenario !== undefined) return scenario
  throw new SettingError(
    'scenario',
    `Cannot use scenario ${shortText(name)}: it must be one of ${scenarios.map((each) => each.name).join(', ')}`,
  )
}
