import { InvalidArgumentError } from 'commander'
import { isEventType } from '../../model/index.ts'
import type { DelayRange, Fault, ForwardTarget, TlsKind } from '../../receiver/index.ts'
import { command, flag, inGroup, option, type ValuesOf } from '../command.ts'
import {
  countFlag,
  duration,
  durationUpTo,
  headerFlag,
  outputOptions,
  repeatable,
  reportOption,
} from '../flags.ts'

const countMax = 1_000_000_000
const lastMax = 1_000
const forwardTimeoutMsMax = 60 * 60 * 1_000
const delayMsMax = 60 * 60 * 1_000
const endpointsMax = 5

const options = {
  ...inGroup('Where:', {
    port: option('-p, --port <n>', 'port, 0 for a free one [4100]', countFlag(0, 65_535)).or(4_100),
    host: option('--host <address>', 'address to listen on [127.0.0.1]').or('127.0.0.1'),
    token: option('--token <value>', 'allow other machines that send this token'),
  }),
  ...inGroup('Signatures:', {
    secret: option('--secret <value>', 'verify: text, @file, env:NAME [EVROUTE_SECRET]'),
    config: option('--config <file>', "recognise secrets of a service's destinations"),
    strict: flag('--strict', 'refuse bad signatures with 401, then exit 6'),
  }),
  ...inGroup('Passing on:', {
    forwardTo: option(
      '--forward-to <url>',
      'port or URL; one type: track=localhost:3000',
      forwardFlag,
    ).or([]),
    forwardFilter: option('--forward-filter <match>', 'forward only matching requests'),
    forwardHeaders: option(
      '--forward-header <name: value>',
      'set a header, repeatable',
      headerFlag,
    ),
    forwardTimeoutMs: option(
      '--forward-timeout <duration>',
      'time limit for the answer, 0 for none [5s]',
      (text) => (text === '0' ? 0 : durationUpTo(forwardTimeoutMsMax)(text)),
    ),
    forwardInsecure: flag('--insecure', 'accept any certificate from --forward-to'),
    program: option('--on-event <program>', 'run this for each request, as JSON on stdin'),
    allowUnverified: flag('--allow-unverified', 'pass on unverified requests too'),
  }),
  ...inGroup('How long:', {
    count: option('--count <n>', 'exit after n well-formed webhooks', countFlag(1, countMax)),
    timeoutMs: option(
      '--timeout <duration>',
      'time limit; exit 5 if anything is missing',
      duration,
    ),
  }),
  ...inGroup('Expectations:', {
    expect: option(
      '--expect <text>',
      "expect webhooks, then exit: 'type:track x3..'",
      repeatable,
    ).or([]),
    reports: reportOption,
  }),
  // The receiver checks the names of faults, certificates and scenarios.
  ...inGroup('Answers:', {
    respond: option(
      '--respond <plan>',
      'answers, such as 503x2,reset; repeatable [200]',
      repeatable,
    ),
    delayMs: option('--delay <duration>', 'wait before answers, such as 6s or 1s..8s', delayFlag),
    failShare: option('--fail <percent>', 'share of webhooks that get 500 or --fault', shareFlag),
    fault: option<Fault>('--fault <name>', 'fault to use, listed below'),
    seed: option('--seed <n>', 'random seed', countFlag(0, Number.MAX_SAFE_INTEGER)),
    tls: option<TlsKind>('--tls <kind>', 'serve HTTPS, with a certificate of this kind'),
    endpoints: option('--endpoints <n>', 'listen on up to 5 ports', countFlag(1, endpointsMax)),
    // A scenario sets all of these itself.
    scenario: option('--scenario <name>', 'play one of the error scenarios listed below').conflicts(
      ['respond', 'delay', 'fail', 'fault', 'seed', 'tls', 'endpoints'],
    ),
  }),
  ...outputOptions({ quiet: 'print only requests', verbose: 'print payloads too' }),
  ...inGroup('Output:', {
    shown: option('--filter <match>', "show only what matches, such as 'type:track'"),
    save: option('--save <file>', 'append every request to an NDJSON file'),
    last: option('--last <n>', 'first show the last n requests from --save', countFlag(1, lastMax)),
    input: flag('--no-input', 'ignore the keyboard, even on a terminal'),
  }),
}

/** The parsed options of `evroute listen`. */
export type ListenValues = ValuesOf<typeof options>

/** Adds `evroute listen`. */
export const addListenCommand = command({
  name: 'listen',
  summary: 'receive webhooks and show them',
  description: 'Receives webhooks, checks their signatures and shows each on a line.',
  arguments: [['[args...]', 'arguments for the --on-event program']],
  options,
  after: `Examples:
  evroute listen --secret s3cret
  evroute listen --forward-to 3000
  evroute listen --forward-to localhost:3000/hook --forward-timeout 0
  evroute listen --port 0 --json --count 10 --timeout 60s
  evroute listen --port 0 --expect 'type:track x3..' --timeout 30s
  evroute listen --respond 503x3,200 --delay 1s..3s
  evroute listen --endpoints 2 --respond endpoint=2:reset
  evroute listen --on-event ./import.sh -- --dry-run

A webhook with a wrong signature is shown as such and answered with 200 too, unless
you pass --strict.

The path of a request can choose the answer: /status/503, /delay/6s, /fault/reset, or
/delay/1s/status/503. On a terminal, press h for the keys.

Faults: reset, hang, empty, truncate, malformed, drip, endless.
Certificates: self-signed, expired, wrong-host, valid.
Scenarios: timeout, 5xx-then-ok, down-4h, self-signed, any-succeeds, flaky.

Exit codes: 0 success; 2 usage; 5 an expectation or --count was not met;
6 a signature did not verify (--strict); 7 the port or a file cannot be used.`,
  run: async (values, { io }, [args]: [readonly string[]]) =>
    (await import('../listening/listen.ts')).listen(values, args, io),
})

function delayFlag(text: string): DelayRange {
  const [from = '', to = from, ...rest] = text.split('..')
  const read = durationUpTo(delayMsMax)
  const range = { fromMs: read(from), toMs: read(to) }
  if (rest.length === 0 && range.fromMs <= range.toMs) return range
  throw new InvalidArgumentError('It must be a duration such as 6s, or a range such as 1s..8s.')
}

function shareFlag(text: string): number {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1]
  if (percent !== undefined && Number(percent) <= 100) return Number(percent) / 100
  throw new InvalidArgumentError('It must be a percentage from 0% to 100%, such as 20%.')
}

/** Collects `[type=]<url>` flags. The receiver checks the URLs. */
export function forwardFlag(
  text: string,
  previous: readonly ForwardTarget[] = [],
): readonly ForwardTarget[] {
  const [, type = '', url = ''] = /^(\w+)=(.*)$/s.exec(text) ?? []
  return [...previous, isEventType(type) ? { type, url } : { type: null, url: text }]
}
