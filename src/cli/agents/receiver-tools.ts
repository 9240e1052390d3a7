import { z } from 'zod'
import { parseMatch } from '../../match/index.ts'
import { SettingError } from '../../model/index.ts'
import { eventRecord, Receiver, type ReceivedEvent } from '../../receiver/index.ts'
import type { Io } from '../io.ts'
import { readSecret } from '../secret.ts'
import { BoundedRecords } from './run-command.ts'
import { omitted, records, secret, text, tool, type AgentTool } from './tool.ts'

/** Maximum number of receivers that an agent can run at once. */
const receiversMax = 8
/** Maximum wait for a webhook, in seconds. MCP clients give up after a minute. */
const waitSecondsMax = 50
/** Maximum number of events in one result. */
const eventsMax = 50

const receiver = text().describe('The name that start_receiver returned.')
const after = z.int().min(0).default(0).describe('Only requests with a seq above this number.')
const events = { events: records, omitted }

/** The running receivers, by name. */
export type RunningReceivers = Map<string, Receiver>

/** Makes the tools that start and stop receivers, and read what they got. */
export function receiverTools(running: RunningReceivers, io: Io): readonly AgentTool[] {
  return [...startingTools(running, io), ...waitingTools(running)]
}

function startingTools(running: RunningReceivers, io: Io): readonly AgentTool[] {
  let started = 0
  return [
    tool({
      name: 'start_receiver',
      description: `Starts a webhook receiver on a free port of this machine, at most ${receiversMax} at once.`,
      input: {
        secret,
        respond: z
          .array(text())
          .max(20)
          .optional()
          .describe(
            'How to answer, such as 503x3,200 (503 three times, then 200), type=track:500, or reset to cut the connection. Default: 200.',
          ),
      },
      output: z.object({ receiver: z.string(), url: z.string() }),
      run: async ({ secret: given, respond }) => {
        if (running.size >= receiversMax) {
          const message = `Cannot start another receiver: ${receiversMax} are already running`
          throw new SettingError('receiver', message, 'Stop one with stop_receiver.')
        }
        started += 1
        const name = `receiver-${started}`
        const made = new Receiver({ secret: await readSecret(given, io), respond })
        running.set(name, made)
        try {
          const { url } = await made.start()
          return { receiver: name, url }
        } catch (error) {
          running.delete(name)
          throw error
        }
      },
    }),
    tool({
      name: 'stop_receiver',
      description: 'Stops a receiver and forgets its webhooks.',
      input: { receiver },
      output: z.object({ stopped: z.string() }),
      run: async ({ receiver: name }) => {
        const stopped = named(name, running)
        running.delete(name)
        await stopped.close()
        return { stopped: name }
      },
    }),
  ]
}

function waitingTools(running: RunningReceivers): readonly AgentTool[] {
  return [
    tool({
      name: 'wait_for_webhook',
      description:
        'Waits until the expected webhooks have arrived. If they do not, shows the webhook that came closest.',
      input: {
        receiver,
        match: text().describe('The expected webhooks, such as type:track event:"Order*" x2.'),
        after,
        timeoutSeconds: z.number().min(0).max(waitSecondsMax).default(10),
      },
      output: z.object({
        met: z.boolean(),
        account: z.string(),
        matched: z.int(),
        untrusted: z.object({ ...events, difference: records }),
      }),
      run: async ({ receiver: name, match, timeoutSeconds, ...rest }, signal) => {
        const options = { ...rest, timeoutMs: timeoutSeconds * 1_000, signal }
        const { result, events } = await named(name, running).judge(match, options)
        const { state, account, matched, shortfall } = result
        // For an unmet expectation, show only the event that explains the failure best.
        const near = shortfall?.reason === 'too_many' ? shortfall.surplus : shortfall?.nearest
        const closest = near === undefined ? [] : [near]
        const shown = shortfall === undefined ? events.slice(0, eventsMax) : closest
        const difference = shortfall?.reason === 'too_few' ? shortfall.difference : []
        const untrusted = { ...boundedEvents(shown), difference }
        return { met: state === 'met', account, matched, untrusted }
      },
    }),
    tool({
      name: 'read_webhooks',
      description:
        'Returns the requests that a receiver got, with a diagnosis of each wrong signature.',
      input: {
        receiver,
        match: text()
          .optional()
          .describe('Only requests that match, such as type:track sig:wrong.'),
        after,
        limit: z.int().min(1).max(eventsMax).default(20),
      },
      output: z.object({
        counts: z.record(z.string(), z.int()),
        more: z.int(),
        untrusted: z.object(events),
      }),
      run: ({ receiver: name, match, after, limit }) => {
        const { events, counts } = named(name, running)
        const wanted = match === undefined ? undefined : parseMatch(match)
        const found = events.filter((event) => event.seq > after && wanted?.test(event) !== false)
        const more = Math.max(0, found.length - limit)
        return { counts, more, untrusted: boundedEvents(found.slice(0, limit)) }
      },
    }),
  ]
}

function named(name: string, running: RunningReceivers): Receiver {
  const found = running.get(name)
  if (found !== undefined) return found
  const names = [...running.keys()].join(', ')
  const hint = names === '' ? 'Start one with start_receiver.' : `The receivers are ${names}.`
  throw new SettingError('receiver', `There is no receiver "${name}"`, hint)
}

function boundedEvents(events: readonly ReceivedEvent[]) {
  const bounded = new BoundedRecords()
  for (const event of events) {
    // Text is easier to read than bytes.
    const text = event.body === null ? event.rawBody.toString() : undefined
    bounded.add({ ...eventRecord(event), rawBase64: undefined, text })
  }
  const { records, omitted } = bounded.result
  return { events: records, omitted }
}
