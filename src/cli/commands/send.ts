import { eventTypes, fullUrl, isEventType, type EventType } from '../../model/index.ts'
import { command, inGroup, option, type ValuesOf } from '../command.ts'
import { countFlag, idFlag, integrationFlag, timestampFlag } from '../flags.ts'
import { commandLine } from '../output/command-line.ts'
import { usageError } from '../output/error.ts'
import { composeCall, fieldNames, flagName, mistakenPair } from '../sending/composed-call.ts'
import { fileRows, repeatedRows } from '../sending/row-source.ts'
import { readSendingOptions, sendingOptions } from '../sending/sending-options.ts'
import { transfer } from '../sending/transfer.ts'

const countMax = 1_000_000

const options = {
  ...inGroup('The call:', {
    file: option('-f, --file <path>', 'calls from a file, - for stdin: NDJSON, JSON, gzip'),
    event: option('--event <name>', 'event name, for track', idFlag),
    userId: option('--user-id <id>', "the user's id", idFlag),
    anonymousId: option('--anonymous-id <id>', 'id of an unknown user', idFlag),
    groupId: option('--group-id <id>', 'group id, for group', idFlag),
    previousId: option('--previous-id <id>', 'earlier id, for alias', idFlag),
    name: option('--name <name>', 'name of page or screen'),
    timestamp: option('--timestamp <time>', 'when it happened, ISO 8601', timestampFlag),
    integrations: option(
      '--integration <name=bool>',
      'turn a destination on or off',
      integrationFlag,
    ),
    count: option('--count <n>', 'send the call n times', countFlag(1, countMax)),
  }),
  ...sendingOptions,
}

/** Adds `evroute send`. */
export const addSendCommand = command({
  name: 'send',
  summary: 'send calls as signed webhooks',
  description: 'Sends one call, or the calls of a file, as signed webhooks or to a service.',
  arguments: [
    ['[type]', `${eventTypes.slice(0, -1).join(', ')} or delete`],
    ['[key=value...]', 'properties or traits; key:=json for numbers and other JSON'],
  ],
  options,
  after: `Examples:
  evroute send track
  evroute send track --event "Order Completed" --user-id u_1 revenue:=39.95
  evroute send --file calls.ndjson --to https://example.com/hook --secret @key
  gunzip -c calls.ndjson.gz | evroute send --file - --json
  evroute send delete --user-id u_1

Without fields, a sample call of the type is sent. With --event, --name,
--group-id, --previous-id or a key=value, only its ids and event name are kept.

Exit codes: 0 delivered; 2 usage; 3 rejected rows; 4 a delivery failed or
expired; 7 a file cannot be read; 130 interrupted.`,
  run: async (values, { io, argv }, [word, pairs]: [string | undefined, readonly string[]]) => {
    const type = readType(word)
    const options = await readSendingOptions(values, io)
    const { file, count = 1, timestamp, integrations } = values
    const changes = { type, timestamp, integrations }
    const again = [
      `Next: ${commandLine(argv, io)}`,
      'Calls without a messageId will be sent a second time',
    ]
    if (file !== undefined) {
      refuseFieldsWithFile(pairs, values)
      return transfer({ io, options, rows: fileRows(file, changes, io), again })
    }
    if (type === undefined) {
      throw usageError(
        'Cannot send: neither a type nor a file is given',
        'Try `evroute send track`, or `evroute send --file calls.ndjson`.',
      )
    }
    const call = composeCall(type, values, pairs)
    const mistake = mistakenPair(type, values, pairs)
    if (mistake !== undefined && !options.quiet && !options.json) io.stderr.write(`${mistake}\n`)
    const rows = repeatedRows(call, count, changes)
    const single = count === 1 ? call : undefined
    return transfer({ io, options, rows, again, single })
  },
})

function readType(text: string | undefined): EventType | undefined {
  if (text === undefined || isEventType(text)) return text
  const url = fullUrl(text)
  const hint = /^https?:/.test(url)
    ? `Try \`evroute send track --to ${url}\`.`
    : `The types are ${eventTypes.join(', ')}; key=value comes after the type.`
  throw usageError(`Cannot send "${text}": it is not a type of call`, hint)
}

function refuseFieldsWithFile([pair]: readonly string[], values: ValuesOf<typeof options>): void {
  const field = pair ?? [...fieldNames, 'count' as const].find((name) => values[name] !== undefined)
  if (field === undefined) return
  throw usageError(
    `Cannot use ${pair ?? flagName(field)} together with --file: the rows have their own fields`,
    '--timestamp and --integration can be used with --file too.',
  )
}
