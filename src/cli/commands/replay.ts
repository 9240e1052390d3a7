import { InvalidArgumentError } from 'commander'
import { parseTimestamp, type EventType } from '../../model/index.ts'
import { eventTypesFlag, timestampFlag } from '../flags.ts'
import type { AddCommand } from '../io.ts'
import { checkShift, replayTarget } from '../sending/captured-target.ts'
import { SelectedRows } from '../sending/row-selection.ts'
import {
  addSendingFlags,
  readSendingOptions,
  type SendingFlags,
} from '../sending/sending-options.ts'
import { parseTimeShift, type TimeShiftBy } from '../sending/time-shift.ts'
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
  evroute replay history.ndjson.gz --to https://example.com/hook --secret env:HOOK_SECRET
  evroute replay 2026-*.ndjson.gz --rate 100/s --type track --since 2026-10-01 --until 2026-11-01
  evroute replay capture.ndjson --to http://127.0.0.1:3000/hook
  evroute replay capture.ndjson --resign --secret env:HOOK_SECRET --shift-time now

Every call keeps its timestamp and messageId. What \`listen --save\` wrote is sent again byte for byte, in
its order, with the headers that came with it. Exit codes are those of \`send\`.`

/** Adds `evroute replay`. */
export const addReplayCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('replay')
    .summary('send the calls of files again')
    .description(
      'Imports history: sends the calls of files as signed webhooks, or captured webhooks again, as ' +
        'fast as allowed.',
    )
    .argument(
      '<file...>',
      'calls in any format that `send --file` reads, or captures of `listen --save`; - for stdin',
    )
    .option('--rate <n/s>', 'calls per second at the most', rateFlag)
    .option('--type <type>', 'only calls of this type, repeatable', eventTypesFlag)
    .option('--since <time>', 'only calls from this timestamp on', timestampFlag)
    .option('--until <time>', 'only calls before this timestamp', timestampFlag)
    .option('--resign', 'sign captured webhooks again, with --secret')
    .option(
      '--shift-time <now|duration>',
      'move the times of captured webhooks, so that the first is now, or by 2h or -7d; with --resign',
      shiftFlag,
    )
  addSendingFlags(command)
    .addHelpText('after', examples)
    .action(async (files: readonly string[]) => {
      const flags = command.opts<ReplayFlags>()
      const { resign = false, shiftTime: shiftBy } = flags
      checkShift({ resign, shiftBy })
      const given = await readSendingOptions(flags, io)
      const selection = {
        types: flags.type,
        sinceMs: parseTimestamp(flags.since),
        untilMs: parseTimestamp(flags.until),
      }
      const rows = new SelectedRows(files, selection, io)
      const skipped = (): number => rows.skipped
      const isCapture = await rows.holdCapture()
      const hasSecretFlag = flags.secret !== undefined
      const target = replayTarget(given, { isCapture, resign, hasSecretFlag, shiftBy })
      const options = { ...given, target }
      end(await transfer({ io, options, rows, ratePerSecond: flags.rate, skipped }))
    })
}

function rateFlag(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(text)
  const rate = Number(match?.[1])
  if (rate > 0) return rate
  throw new InvalidArgumentError('A rate is written as 100/s.')
}

function shiftFlag(text: string): TimeShiftBy {
  const shiftBy = parseTimeShift(text)
  if (shiftBy !== undefined) return shiftBy
  throw new InvalidArgumentError('It is now, or a duration such as 2h or -7d.')
}
