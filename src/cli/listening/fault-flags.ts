import { InvalidArgumentError, Option, type Command } from 'commander'
import type { DelayRange } from '../../receiver/index.ts'
import { countFlag, durationFlagUpTo, repeatable } from '../flags.ts'

/** The flags that inject faults into a receiver's answers, from commander. */
export interface FaultFlags {
  /** `--respond` */
  readonly respond?: readonly string[]
  /** `--delay` */
  readonly delay?: DelayRange
  /** `--fail`, from 0 to 1 */
  readonly fail?: number
  /** `--fault` */
  readonly fault?: string
  /** `--seed` */
  readonly seed?: number
  /** `--tls` */
  readonly tls?: string
  /** `--endpoints` */
  readonly endpoints?: number
  /** `--scenario` */
  readonly scenario?: string
}

const delayMsMax = 60 * 60 * 1_000
const endpointsMax = 5
/** The flags that `--scenario` replaces. */
const setByScenarios = ['respond', 'delay', 'fail', 'fault', 'seed', 'tls', 'endpoints']

/** Adds the flags to a command. The receiver checks the names in them. */
export function addFaultFlags(command: Command): Command {
  return command
    .option(
      '--respond <plan>',
      'answers in turn, the last for ever: 503x3,200 or type=track:500 or endpoint=2:reset (default: 200; repeatable)',
      repeatable,
    )
    .option('--delay <duration>', 'wait before each answer: 6s or 1s..8s, at most 1h', delayFlag)
    .option('--fail <percent>', 'that share of the webhooks fails, with 500 or --fault', shareFlag)
    .option(
      '--fault <name>',
      'instead of answers: reset, hang, empty, truncate, malformed, drip or endless',
    )
    .option('--seed <n>', 'repeat what chance did', countFlag(0, Number.MAX_SAFE_INTEGER))
    .option('--tls <kind>', 'HTTPS with a certificate: self-signed, expired, wrong-host or valid')
    .option(
      '--endpoints <n>',
      'several endpoints, each on a port of its own',
      countFlag(1, endpointsMax),
    )
    .addOption(
      new Option(
        '--scenario <name>',
        'timeout, 5xx-then-ok, down-4h, self-signed, any-succeeds or flaky',
      ).conflicts(setByScenarios),
    )
}

const delayDurationFlag = durationFlagUpTo(delayMsMax)

function delayFlag(text: string): DelayRange {
  const [from = '', to = from, ...rest] = text.split('..')
  const range = { fromMs: delayDurationFlag(from), toMs: delayDurationFlag(to) }
  if (rest.length === 0 && range.fromMs <= range.toMs) return range
  throw new InvalidArgumentError(
    'A delay is written as 6s, or as the shortest and longest: 1s..8s.',
  )
}

function shareFlag(text: string): number {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1]
  if (percent !== undefined && Number(percent) <= 100) return Number(percent) / 100
  throw new InvalidArgumentError('A share is written as 20%, from 0% to 100%.')
}
