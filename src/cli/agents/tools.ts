import { realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { z } from 'zod'
import { eventTypes } from '../../model/index.ts'
import type { TargetValues } from '../flags.ts'
import { eventsMax, receiversMax, waitSecondsMax, type AgentReceivers } from './agent-receivers.ts'
import { flagsOf, type RunForAgent } from './run-command.ts'

/** What the tools use: receivers, evroute commands, and a store or service. */
export interface Workbench {
  readonly receivers: AgentReceivers
  /** Runs an evroute command, and limits its records to what an agent can read. */
  readonly run: RunForAgent
  readonly access: TargetValues
}

/** A tool that `evroute mcp` offers to a coding agent. */
export interface AgentTool {
  readonly name: string
  readonly description: string
  readonly input: z.ZodObject
  readonly output: z.ZodObject
  run(input: unknown, signal: AbortSignal): Promise<object>
}

interface ToolParts<Shape extends z.core.$ZodLooseShape> extends Omit<AgentTool, 'input' | 'run'> {
  readonly input: Shape
  run(input: z.output<z.ZodObject<Shape>>, signal: AbortSignal): Promise<object>
}

function tool<Shape extends z.core.$ZodLooseShape>(parts: ToolParts<Shape>): AgentTool {
  const input = z.strictObject(parts.input)
  return {
    ...parts,
    input,
    run: (given, signal) => parts.run(input.parse(given), signal),
  }
}

const callsMax = 50
const deliveriesMax = 100
const textMax = 1_000

const text = () => z.string().max(textMax)
const receiver = text().describe('The name that start_receiver returned.')
const secret = text()
  .refine(
    isOwnSecret,
    'A secret can be text, env:EVROUTE_..., or @ followed by a file below this folder',
  )
  .optional()
  .describe('The shared secret: text, env:EVROUTE_... or @file. Default: EVROUTE_SECRET.')
const expectation = text().describe('The expected webhooks, such as type:track event:"Order*" x2.')
const match = text().optional().describe('Only requests that match, such as type:track sig:wrong.')
const after = z.int().min(0).default(0).describe('Only requests with a seq above this number.')
const receiverInput = {
  secret,
  respond: z
    .array(text())
    .max(20)
    .optional()
    .describe('How to answer, such as 503x3,200 or type=track:500 or reset. Default: 200.'),
}
const timeoutSeconds = z.number().min(0).max(waitSecondsMax).default(10)
const waitInput = { receiver, match: expectation, after, timeoutSeconds }
const limit = z.int().min(1).max(eventsMax).default(20)
const readInput = { receiver, match, after, limit }

/** Whether an agent may sign with a secret. Signatures with other files or variables would help to guess them. */
function isOwnSecret(secret: string): boolean {
  if (!secret.startsWith('@')) return !/^env:(?!EVROUTE_(?!ADMIN_TOKEN$|STORE$))/.test(secret)
  const path = relative(realPath('.'), realPath(secret.slice(1)))
  return !isAbsolute(path) && !/^\.\.([/\\]|$)/.test(path)
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // A missing file is reported when the secret is read.
    return resolve(path)
  }
}

/** A receiver to start. */
export type ReceiverRequest = z.output<z.ZodObject<typeof receiverInput>>
/** Which webhooks to wait for, on which receiver. */
export type WaitRequest = z.output<z.ZodObject<typeof waitInput>>
/** Which of a receiver's requests to read. */
export type ReadRequest = z.output<z.ZodObject<typeof readInput>>

const calls = z
  .array(z.record(z.string(), z.unknown()))
  .min(1)
  .max(callsMax)
  .describe('Analytics calls, such as {"type":"track","userId":"u_1","event":"Order Completed"}.')
const url = z.url({ protocol: /^https?$/ }).max(textMax)
const types = z.array(z.enum(eventTypes)).optional()

const records = z.array(z.record(z.string(), z.unknown()))
const omitted = z
  .int()
  .describe('The number of results left out. Use a lower limit or a narrower filter to see them.')
const events = { events: records, omitted }
const commandOutput = z.object({
  exitCode: z
    .int()
    .describe(
      '0 success, 2 wrong input, 3 rejected calls, 4 not delivered, 6 wrong handler, 7 unusable store or service, 130 time ran out.',
    ),
  untrusted: z.object({ records, omitted, messages: z.string() }),
})

/** The tools that only read or receive, and send nothing to other systems. */
export function readingTools(bench: Workbench): readonly AgentTool[] {
  return [...receiverTools(bench), explainTool(bench), ...deliveryTools(bench)]
}

function receiverTools({ receivers }: Workbench): readonly AgentTool[] {
  return [
    tool({
      name: 'start_receiver',
      description: `Starts a webhook receiver on a free port of this machine, at most ${receiversMax} at once.`,
      input: receiverInput,
      output: z.object({ receiver: z.string(), url: z.string() }),
      run: (request) => receivers.start(request),
    }),
    tool({
      name: 'stop_receiver',
      description: 'Stops a receiver and forgets its webhooks.',
      input: { receiver },
      output: z.object({ stopped: z.string() }),
      run: (request) => receivers.stop(request.receiver),
    }),
    tool({
      name: 'wait_for_webhook',
      description:
        'Waits until the expected webhooks have arrived. If they do not, shows the webhook that came closest.',
      input: waitInput,
      output: z.object({
        met: z.boolean(),
        account: z.string(),
        matched: z.int(),
        untrusted: z.object({ ...events, difference: records }),
      }),
      run: (request, signal) => receivers.wait(request, signal),
    }),
    tool({
      name: 'read_webhooks',
      description:
        'Returns the requests that a receiver got, with a diagnosis of each wrong signature.',
      input: readInput,
      output: z.object({
        counts: z.record(z.string(), z.int()),
        more: z.int(),
        untrusted: z.object(events),
      }),
      run: (request) => Promise.resolve(receivers.read(request)),
    }),
  ]
}

function explainTool({ run, access }: Workbench): AgentTool {
  return tool({
    name: 'explain_calls',
    description:
      'Shows whether calls would be sent, why or why not, and the signed webhooks they would become. Sends nothing.',
    input: {
      calls,
      secret,
      source: text()
        .optional()
        .describe(
          'A source in the configuration. If given, plans for the configured destinations.',
        ),
    },
    output: commandOutput,
    run: (request, signal) => {
      const { source } = request
      const configured =
        source === undefined ? {} : { config: access.config ?? 'evroute.config.json', source }
      const flags = flagsOf({ secret: request.secret, ...configured })
      const argv = ['explain', '-', '--json', ...flags]
      return run({ argv, rows: request.calls }, signal)
    },
  })
}

/** The tools that send to other systems, or make a service send. */
export function sendingTools({ run, access }: Workbench): readonly AgentTool[] {
  return [
    tool({
      name: 'send_calls',
      description: 'Sends calls as signed webhooks to URLs, and retries for 20 seconds.',
      input: { calls, to: z.array(url).min(1).max(5), secret },
      output: commandOutput,
      run: ({ calls: rows, to, secret: signedWith }, signal) => {
        const flags = flagsOf({ to, secret: signedWith, 'retry-for': '20s' })
        return run({ argv: ['send', '--file=-', '--json', ...flags], rows }, signal)
      },
    }),
    tool({
      name: 'check_handler',
      description:
        'Sends valid and invalid webhooks to a handler, and shows whether it verifies signatures.',
      input: {
        url,
        secret,
        type: types,
        only: z.array(text()).max(50).optional().describe('The cases to send. Default: all.'),
      },
      output: commandOutput,
      run: ({ url: handler, ...flags }, signal) => {
        const argv = ['check', '--json', ...flagsOf(flags), '--', handler]
        return run({ argv }, signal)
      },
    }),
    tool({
      name: 'retry_deliveries',
      description: 'Makes failed, expired and retrying deliveries due again, by id or by filter.',
      input: {
        id: deliveryId.optional(),
        ...filter(z.enum(['pending', 'failed', 'expired'])),
      },
      output: commandOutput,
      run: ({ id, ...flags }, signal) => {
        const argv = ['deliveries', 'retry', '--json', ...flagsOf({ ...flags, ...access })]
        return run({ argv: [...argv, ...(id === undefined ? [] : ['--', id])] }, signal)
      },
    }),
  ]
}

const deliveryId = text().describe(
  'A delivery such as crm/17 or 17, or a messageId for all deliveries of its event.',
)

function filter<State extends z.core.$ZodType>(state: State) {
  return {
    state: z.array(state).optional(),
    type: types,
    'user-id': text().optional(),
    destination: text().optional(),
    message: text().optional().describe('The messageId of an event.'),
    since: text()
      .optional()
      .describe(
        'Only events accepted since this time: a date such as 2026-11-20, or 2h for 2 hours ago.',
      ),
    until: text().optional().describe('Only events accepted before this time, in the same format.'),
  }
}

function deliveryTools({ run, access }: Workbench): readonly AgentTool[] {
  return [
    tool({
      name: 'list_deliveries',
      description: 'Lists deliveries of the store or service, newest first.',
      input: {
        ...filter(z.enum(['pending', 'delivered', 'failed', 'expired'])),
        limit: z.int().min(1).max(deliveriesMax).default(20),
      },
      output: commandOutput,
      run: (flags, signal) => {
        const argv = ['deliveries', 'list', '--json', ...flagsOf({ ...flags, ...access })]
        return run({ argv }, signal)
      },
    }),
    tool({
      name: 'show_delivery',
      description: 'Shows a delivery with its requests, answers and body.',
      input: { id: deliveryId },
      output: commandOutput,
      run: ({ id }, signal) => {
        const argv = ['deliveries', 'show', '--json', ...flagsOf({ ...access }), '--', id]
        return run({ argv }, signal)
      },
    }),
  ]
}
