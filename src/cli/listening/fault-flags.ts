import { InvalidArgumentError } from 'commander'
import { isEventType } from '../../model/index.ts'
import type { DelayRange, Fault, ForwardTarget, TlsKind } from '../../receiver/index.ts'
import { inGroup, option } from '../command.ts'
import { countFlag, durationUpTo, repeatable } from '../flags.ts'

const delayMsMax = 60 * 60 * 1_000
const endpointsMax = 5

/** The options that inject faults into the answers of a receiver. The receiver checks the names. */
export const faultOptions = inGroup('Answers:', {
  respond: option('--respond <plan>', '503x3,200 or type=track:500, repeatable [200]', repeatable),
  delayMs: option('--delay <duration>', 'wait before answers: 6s or 1s..8s', delayFlag),
  failShare: option('--fail <percent>', 'fail this share with 500 or --fault', shareFlag),
  fault: option<Fault>('--fault <name>', 'fault to use, listed below'),
  seed: option('--seed <n>', 'random seed', countFlag(0, Number.MAX_SAFE_INTEGER)),
  tls: option<TlsKind>('--tls <kind>', 'serve HTTPS, with a certificate listed below'),
  endpoints: option('--endpoints <n>', 'listen on up to 5 ports', countFlag(1, endpointsMax)),
  // A scenario sets all of these itself.
  scenario: option('--scenario <name>', 'play this error scenario, listed below').conflicts([
    'respond',
    'delay',
    'fail',
    'fault',
    'seed',
    'tls',
    'endpoints',
  ]),
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
