import { InvalidArgumentError } from 'commander'
import { parseRate, rateForms, SettingError, type EventType } from '../../model/index.ts'
import { systemClock } from '../../runtime/index.ts'
import { eventTypesFlag, momentFlag, momentMs } from '../flags.ts'
import type { AddCommand } from '../io.ts'
import { commandLine } from '../output/command-line.ts'
import { SelectedRows } from '../sending/row-selection.ts'
import {
  addSendingFlags,
  readSendingOptions,
  type GivenSendingOptions,
  type SendingFlags,
  type SendingTarget,
} from '../sending/sending-options.ts'
import { parseTimeShift, type TimeShiftBy } from '../sending/captured-request.ts'
import { transfer } from '../sending/transfer.ts'

interface ReplayFlags extends SendingFlags {
  readonly rate?: number
  readonly type?: readonly EventType[]
  readonly since?: string
  readonly until?: string
  readonly resign?: boolean
  readonly shiftTime?: TimeShiftBy
}

const examples = `
Examples:
  evroute replay history.ndjson.gz --to https://example.com/hook --secret @key
  evroute replay 2026-*.ndjson.gz --rate 100/s --type track --since 7d
  evroute replay capture.ndjson --to http://127.0.0.1:3000/hook
  evroute replay capture.ndjson --resign --secret @key --shift-time now

Calls keep their timestamps and messageIds. Captures of \`listen --save\` are
sent byte for byte, in order, with their headers.

Exit codes: those of \`send\`.`

/** Adds `evroute replay`. */
export const addReplayCommand: AddCommand = (program, { io, argv, end }) => {
  const command = program
    .command('replay')
    .summary('send the calls of files again')
    .description('Imports history: sends the calls or the captured webhooks of files.')
    .argument('<file...>', 'files as `send --file` reads them, or captures; - for stdin')
    .optionsGroup('Which rows:')
    .option('--type <type>', 'only this type, repeatable', eventTypesFlag)
    .option('--since <time>', 'only from this time on, or 2h for 2 hours ago', momentFlag)
    .option('--until <time>', 'only before this time, or 2h for 2 hours ago', momentFlag)
    .option('--rate <n/s>', 'maximum rate, such as 100/s', rateFlag)
    .optionsGroup('Captures:')
    .option('--resign', 'sign again with --secret')
    .option('--shift-time <by>', 'move times: now, 2h or -7d; needs --resign', shiftFlag)
  addSendingFlags(command)
    .addHelpText('after', examples)
    .action(async (files: readonly string[]) => {
      const flags = command.opts<ReplayFlags>()
      const { resign = false, shiftTime: shiftBy } = flags
      checkShift({ resign, shiftBy })
      const given = await readSendingOptions(flags, io)
      const nowMs = systemClock.nowMs()
      const instantOf = (text?: string): number | undefined =>
        text === undefined ? undefined : momentMs(text, nowMs)
      const selection = {
        types: flags.type,
        sinceMs: instantOf(flags.since),
        untilMs: instantOf(flags.until),
      }
      const rows = new SelectedRows(files, selection, io)
      const skipped = (): number => rows.skipped
      const isCapture = await rows.holdCapture()
      const hasSecretFlag = flags.secret !== undefined
      const target = replayTarget(given, { isCapture, resign, hasSecretFlag, shiftBy })
      const options = { ...given, target }
      end(
        await transfer({
          io,
          options,
          rows,
          ratePerSecond: flags.rate,
          skipped,
          total: (parsed) => rows.total(parsed),
          again: commandLine(argv, io),
        }),
      )
    })
}

function rateFlag(text: string): number {
  const rate = parseRate(/^[\d.]+$/.test(text) ? `${text}/s` : text)
  if (rate !== undefined) return rate
  throw new InvalidArgumentError(`It is ${rateForms}.`)
}

function shiftFlag(text: string): TimeShiftBy {
  const shiftBy = parseTimeShift(text)
  if (shiftBy !== undefined) return shiftBy
  throw new InvalidArgumentError('It is now, or a duration such as 2h or -7d.')
}

/** The options that only apply to captured requests. */
interface CaptureRequest {
  readonly isCapture: boolean
  readonly resign: boolean
  /** Whether `--secret` was given; EVROUTE_SECRET does not count. */
  readonly hasSecretFlag: boolean
  readonly shiftBy: TimeShiftBy | undefined
}

/**
 * Decides the target of `replay`. Refuses options that don't apply to captures, or don't apply to calls, rather
 * than ignoring them.
 *
 * @throws SettingError with the flag
 */
function replayTarget(options: GivenSendingOptions, request: CaptureRequest): SendingTarget {
  const { isCapture, resign, hasSecretFlag, shiftBy } = request
  const { target } = options
  if (!isCapture) {
    refuseWithCalls(request)
    return target
  }
  if (target.kind === 'service') {
    const hint = 'Name their endpoint with --to, and leave out --endpoint and EVROUTE_ENDPOINT.'
    throw new SettingError('--endpoint', 'Cannot send captured webhooks to a service', hint)
  }
  refuseWithCapture(options)
  const { destination } = target
  if (!resign && hasSecretFlag) {
    const hint = 'Add --resign to sign again, or leave --secret out.'
    const message = 'Cannot use --secret: captured webhooks keep the signatures they came with'
    throw new SettingError('--secret', message, hint)
  }
  const { sharedSecret } = destination
  if (resign && sharedSecret === undefined) {
    const hint = 'Pass --secret <value>, @file or env:NAME, or set EVROUTE_SECRET.'
    throw new SettingError('--resign', 'Cannot sign again without a secret', hint)
  }
  return { kind: 'captured', destination, newSecret: resign ? sharedSecret : undefined, shiftBy }
}

/**
 * Refuses to move timestamps without signing again.
 *
 * @throws SettingError
 */
function checkShift({ resign, shiftBy }: Pick<CaptureRequest, 'resign' | 'shiftBy'>): void {
  if (shiftBy === undefined || resign) return
  throw new SettingError(
    '--shift-time',
    'Cannot use --shift-time without --resign: no signature would fit its body any more',
    'Add --resign, with the --secret of the endpoint.',
  )
}

function refuseWithCalls({ resign }: CaptureRequest): void {
  if (!resign) return
  throw new SettingError(
    '--resign',
    'Cannot use --resign: the files hold calls, which are signed anyway',
    'What `listen --save` writes can be signed again.',
  )
}

function refuseWithCapture({ target, store, flushAt, flushAfterMs }: GivenSendingOptions): void {
  if (target.kind === 'webhooks' && target.bodyStyle !== undefined) {
    const message = 'Cannot use --body-style with a capture: its bodies are sent byte for byte'
    throw new SettingError('--body-style', message, 'Leave it out, or send calls.')
  }
  if (store !== undefined) {
    const message = 'Cannot use --store with a capture: a store keeps no headers'
    throw new SettingError('--store', message, 'Leave it out; the capture is the store.')
  }
  if (flushAt === undefined && flushAfterMs === undefined) return
  const flag = flushAt === undefined ? '--flush-after' : '--flush-at'
  throw new SettingError(
    flag,
    `Cannot use ${flag} with a capture: captured webhooks are not batched`,
  )
}
