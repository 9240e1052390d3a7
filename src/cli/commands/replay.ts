import { InvalidArgumentError } from 'commander'
import { parseRate, rateForms, SettingError } from '../../model/index.ts'
import { command, flag, inGroup, option, type ValuesOf } from '../command.ts'
import { eventTypesFlag, momentFlag } from '../flags.ts'
import { commandLine } from '../output/command-line.ts'
import { parseTimeShift, type TimeShiftBy } from '../sending/captured-request.ts'
import { selectRows } from '../sending/row-selection.ts'
import {
  readSendingOptions,
  sendingOptions,
  type GivenSendingOptions,
  type SendingTarget,
} from '../sending/sending-options.ts'
import { transfer } from '../sending/transfer.ts'

const options = {
  ...inGroup('Which rows:', {
    types: option('--type <type>', 'only this type, repeatable', eventTypesFlag),
    sinceMs: option(
      '--since <time>',
      'from this time: 2026-11-20, or 2h for 2 hours ago',
      momentFlag,
    ),
    untilMs: option('--until <time>', 'before this time; same formats as --since', momentFlag),
    ratePerSecond: option('--rate <n/s>', 'maximum rate, such as 100/s', rateFlag),
  }),
  ...inGroup('Captures:', {
    resign: flag('--resign', 'sign again with --secret'),
    shiftBy: option(
      '--shift-time <by>',
      'move times to now, or by 2h or -7d; needs --resign',
      shiftFlag,
    ),
  }),
  ...sendingOptions,
}

type ReplayValues = ValuesOf<typeof options>

/** Adds `evroute replay`. */
export const addReplayCommand = command({
  name: 'replay',
  summary: 'import history, or send captures again',
  description: 'Imports history: sends the calls or captured webhooks in the given files.',
  arguments: [['<file...>', 'files that `send --file` can read, or captures; - for stdin']],
  options,
  after: `Examples:
  evroute replay history.ndjson.gz --to https://example.com/hook --secret @key
  evroute replay 2026-*.ndjson.gz --rate 100/s --type track --since 7d
  evroute replay capture.ndjson --to http://127.0.0.1:3000/hook
  evroute replay capture.ndjson --resign --secret @key --shift-time now

Calls keep their timestamps and messageIds. Captures from \`listen --save\`
are sent byte for byte, in order, with their headers.

Exit codes: those of \`send\`.`,
  run: async (values, { io, argv }, [files]: [readonly string[]]) => {
    if (values.shiftBy !== undefined && !values.resign) {
      throw new SettingError(
        '--shift-time',
        'Cannot use --shift-time without --resign: the signatures would no longer match the bodies',
        'Add --resign, with the --secret of the endpoint.',
      )
    }
    const given = await readSendingOptions(values, io)
    const ratePerSecond = given.dryRun ? undefined : values.ratePerSecond
    const { rows, isCapture } = await selectRows(files, values, io)
    const target = replayTarget(given, values, isCapture)
    const again = [`Next: ${commandLine(argv, io)}`]
    return transfer({ io, options: { ...given, target }, rows, ratePerSecond, again })
  },
})

function rateFlag(text: string): number {
  const rate = parseRate(/^[\d.]+$/.test(text) ? `${text}/s` : text)
  if (rate !== undefined) return rate
  throw new InvalidArgumentError(`It must be ${rateForms}.`)
}

function shiftFlag(text: string): TimeShiftBy {
  const shiftBy = parseTimeShift(text)
  if (shiftBy !== undefined) return shiftBy
  throw new InvalidArgumentError('It must be "now", or a duration such as 2h or -7d.')
}

/** Decides the target. Refuses options that don't apply to the content of the files. */
function replayTarget(
  options: GivenSendingOptions,
  { resign, shiftBy, secret }: ReplayValues,
  isCapture: boolean,
): SendingTarget {
  const { target, store, flushAt, flushAfterMs } = options
  if (!isCapture) {
    refuseIf(resign, [
      '--resign',
      'Cannot use --resign: the files hold calls, which are signed anyway',
      'Only captures from `listen --save` can be signed again.',
    ])
    return target
  }
  if (target.kind === 'service') {
    const hint = 'Pass --to <url>, and leave out --endpoint and EVROUTE_ENDPOINT.'
    throw new SettingError('--endpoint', 'Cannot send captured webhooks to a service', hint)
  }
  refuseIf(store !== undefined, [
    '--store',
    'Cannot use --store with a capture: a store keeps no headers',
    'Leave it out: the capture already keeps the webhooks.',
  ])
  const flag = flushAt === undefined ? '--flush-after' : '--flush-at'
  refuseIf(flushAt !== undefined || flushAfterMs !== undefined, [
    flag,
    `Cannot use ${flag} with a capture: captured webhooks are not batched`,
  ])
  // Refuse only the flag, because EVROUTE_SECRET may be set for other commands.
  refuseIf(!resign && secret !== undefined, [
    '--secret',
    'Cannot use --secret: captured webhooks keep the signatures they came with',
    'Add --resign to sign again, or leave --secret out.',
  ])
  const { destination } = target
  const newSecret = resign ? destination.sharedSecret : undefined
  refuseIf(resign && newSecret === undefined, [
    '--resign',
    'Cannot sign again without a secret',
    'Pass --secret <value>, @file or env:NAME, or set EVROUTE_SECRET.',
  ])
  return { kind: 'captured', destination, newSecret, shiftBy }
}

function refuseIf(
  isRefused: boolean,
  error: readonly [setting: string, message: string, hint?: string],
): void {
  if (isRefused) throw new SettingError(...error)
}
