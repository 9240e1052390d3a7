import {
  EvrouteError,
  eventTypes,
  isEventType,
  type EventType,
  type JsonObject,
} from '../../model/index.ts'
import type { ExitCode } from '../exit-code.ts'
import { countFlag, idFlag, integrationFlag, timestampFlag } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import { commandLine } from '../output/command-line.ts'
import { composeCall, fieldNames, flagName, type CallFlags } from '../sending/composed-call.ts'
import { fileRows, InputMeter, repeatedRows } from '../sending/row-source.ts'
import {
  addSendingFlags,
  readSendingOptions,
  type SendingFlags,
} from '../sending/sending-options.ts'
import { transfer } from '../sending/transfer.ts'

interface SendFlags extends SendingFlags, CallFlags {
  readonly file?: string
  readonly count?: number
}

const countMax = 1_000_000

const examples = `
Examples:
  evroute send track
  evroute send track --event "Order Completed" --user-id u_1 revenue:=39.95
  evroute send --file calls.ndjson --to https://example.com/hook --secret @key
  gunzip -c calls.ndjson.gz | evroute send --file - --json
  evroute send delete --user-id u_1

Without fields, the sample of the type is sent. With --event, --name,
--group-id, --previous-id or a key=value, only its ids are kept.

Exit codes: 0 delivered, 2 usage, 3 rejected rows, 4 a delivery failed or
expired, 7 a file cannot be read, 130 interrupted.`

/** Adds `evroute send`. */
export const addSendCommand: AddCommand = (program, context) => {
  const command = program
    .command('send')
    .summary('send calls as signed webhooks')
    .description('Sends one call, or the calls of a file, as signed webhooks or to a service.')
    .argument('[type]', `${eventTypes.slice(0, -1).join(', ')} or delete`)
    .argument('[key=value...]', 'properties or traits; key:=json for other values')
    .optionsGroup('The call:')
    .option('-f, --file <path>', 'calls from a file, - for stdin: NDJSON, JSON, gzip')
    .option('--event <name>', 'event name, for track', idFlag)
    .option('--user-id <id>', "the user's id", idFlag)
    .option('--anonymous-id <id>', 'id of an unknown user', idFlag)
    .option('--group-id <id>', 'group id, for group', idFlag)
    .option('--previous-id <id>', 'earlier id, for alias', idFlag)
    .option('--name <name>', 'name of page or screen')
    .option('--timestamp <time>', 'when it happened, ISO 8601', timestampFlag)
    .option('--integration <name=bool>', 'turn a destination on or off', integrationFlag)
    .option('--count <n>', 'send the call n times', countFlag(1, countMax))
  addSendingFlags(command)
    .addHelpText('after', examples)
    .action(async (type: string | undefined, pairs: readonly string[]) => {
      context.end(await send({ type, pairs, flags: command.opts<SendFlags>() }, context))
    })
}

interface SendRequest {
  readonly type: string | undefined
  readonly pairs: readonly string[]
  readonly flags: SendFlags
}

async function send(request: SendRequest, { io, argv }: CommandContext): Promise<ExitCode> {
  const options = await readSendingOptions(request.flags, io)
  const source = readSource(request)
  const { type, file, call, count } = source
  const { timestamp, integration } = request.flags
  const changes = { type, timestamp, integrations: integration }
  const again = commandLine(argv, io)
  if (file === undefined) {
    const rows = repeatedRows(call, count, changes)
    const single = count === 1 ? call : undefined
    return transfer({ io, options, rows, again, single, total: () => count })
  }
  const meter = new InputMeter(io)
  const rows = fileRows(file, changes, meter)
  return transfer({ io, options, rows, again, total: (parsed) => meter.total(parsed) })
}

interface SendSource {
  readonly type: EventType | undefined
  readonly file: string | undefined
  readonly call: JsonObject
  readonly count: number
}

function readSource({ type: typeArgument, pairs, flags }: SendRequest): SendSource {
  const type = readType(typeArgument)
  const { file, count = 1 } = flags
  if (file !== undefined) {
    refuseFieldsWithFile(pairs, flags)
    return { type, file, call: {}, count }
  }
  if (type === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: 'Cannot send: neither a type nor a file is given',
      hint: 'Try `evroute send track`, or `evroute send --file calls.ndjson`.',
    })
  }
  return { type, file, call: composeCall(type, flags, pairs), count }
}

function readType(text: string | undefined): EventType | undefined {
  if (text === undefined || isEventType(text)) return text
  throw new EvrouteError({
    code: 'invalid_usage',
    message: `Cannot send "${text}": it is not a type`,
    hint: `The types are ${eventTypes.join(', ')}; key=value comes after the type.`,
  })
}

function refuseFieldsWithFile(pairs: readonly string[], flags: SendFlags): void {
  const [pair] = pairs
  const field = pair ?? fieldFlags.find((name) => flags[name] !== undefined)
  if (field === undefined) return
  throw new EvrouteError({
    code: 'invalid_usage',
    message: `Cannot use ${pair ?? flagName(field)} together with --file: the rows bring their own fields`,
    hint: '--timestamp and --integration work on rows too.',
  })
}

const fieldFlags = [...fieldNames, 'count'] as const
