import { z } from 'zod'
import { eventTypes } from '../../model/index.ts'
import type { TargetValues } from '../flags.ts'
import { flagsOf, type RunForAgent } from './run-command.ts'
import { omitted, records, secret, text, textMax, tool, type AgentTool } from './tool.ts'

/** Runs the commands behind tools. `access` names the store or the service that they work on. */
export interface CommandRunner {
  readonly run: RunForAgent
  readonly access: TargetValues
}

const callsMax = 50
const deliveriesMax = 100

const calls = z
  .array(z.record(z.string(), z.unknown()))
  .min(1)
  .max(callsMax)
  .describe('Analytics calls, such as {"type":"track","userId":"u_1","event":"Order Completed"}.')
const url = z.url({ protocol: /^https?$/ }).max(textMax)
const types = z.array(z.enum(eventTypes)).optional()

const commandOutput = z.object({
  exitCode: z
    .int()
    .describe(
      '0 success, 2 wrong input, 3 rejected calls, 4 not delivered, 6 wrong handler, 7 unusable store or service, 130 time ran out.',
    ),
  untrusted: z.object({ records, omitted, messages: z.string() }),
})

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

/** Makes the tools that only read, and send nothing to other systems. */
export function readingTools({ run, access }: CommandRunner): readonly AgentTool[] {
  return [
    tool({
      name: 'explain_calls',
      description:
        'Shows whether calls would be sent, why or why not, and the signed webhooks they would become. Sends nothing.',
      input: {
        calls,
        secret,
        source: text()
          .optional()
          .describe(
            'A source in the configuration. If given, the plan is for the configured destinations.',
          ),
      },
      output: commandOutput,
      run: (request, signal) => {
        const { source } = request
        const configured =
          source === undefined ? {} : { config: access.config ?? 'evroute.config.json', source }
        const flags = flagsOf({ secret: request.secret, ...configured })
        const argv = ['explain', '-', '--json', ...flags]
        return run(argv, signal, request.calls)
      },
    }),
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
        return run(argv, signal)
      },
    }),
    tool({
      name: 'show_delivery',
      description: 'Shows a delivery with its requests, answers and body.',
      input: { id: deliveryId },
      output: commandOutput,
      run: ({ id }, signal) => {
        const argv = ['deliveries', 'show', '--json', ...flagsOf({ ...access }), '--', id]
        return run(argv, signal)
      },
    }),
  ]
}

/** Makes the tools that send to other systems, or make a service send. */
export function sendingTools({ run, access }: CommandRunner): readonly AgentTool[] {
  return [
    tool({
      name: 'send_calls',
      description: 'Sends calls as signed webhooks to URLs, and retries for 20 seconds.',
      input: { calls, to: z.array(url).min(1).max(5), secret },
      output: commandOutput,
      run: ({ calls: rows, to, secret: signedWith }, signal) => {
        const flags = flagsOf({ to, secret: signedWith, 'retry-for': '20s' })
        return run(['send', '--file=-', '--json', ...flags], signal, rows)
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
        return run(argv, signal)
      },
    }),
    tool({
      name: 'retry_deliveries',
      description:
        'Makes failed, expired and retrying deliveries due again, by id or by filter. Discarded ones are retried ' +
        'only by id or message.',
      input: {
        id: deliveryId.optional(),
        ...filter(z.enum(['pending', 'failed', 'expired'])),
      },
      output: commandOutput,
      run: ({ id, ...flags }, signal) => {
        const argv = ['deliveries', 'retry', '--json', ...flagsOf({ ...flags, ...access })]
        return run([...argv, ...(id === undefined ? [] : ['--', id])], signal)
      },
    }),
  ]
}
