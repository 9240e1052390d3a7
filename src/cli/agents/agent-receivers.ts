import { SettingError } from '../../model/index.ts'
import { parseMatch } from '../../match/index.ts'
import { eventRecord, Receiver, type ReceivedEvent } from '../../receiver/index.ts'
import type { Io } from '../io.ts'
import { readSecret } from '../secret.ts'
import type { ReadRequest, ReceiverRequest, WaitRequest } from './tools.ts'
import { BoundedRecords } from './run-command.ts'

/** Maximum number of receivers that an agent can run at once. */
export const receiversMax = 8
/** Maximum wait for a webhook, in seconds. MCP clients give up after a minute. */
export const waitSecondsMax = 50
/** Maximum number of events in one result. */
export const eventsMax = 50

/** The running receivers of an agent, by name. */
export class AgentReceivers {
  readonly #io: Io
  readonly #receivers = new Map<string, Receiver>()
  #started = 0

  constructor(io: Io) {
    this.#io = io
  }

  async start({ secret, respond }: ReceiverRequest): Promise<object> {
    if (this.#receivers.size >= receiversMax) {
      const message = `Cannot start another receiver: ${receiversMax} are already running`
      throw new SettingError('receiver', message, 'Stop one with stop_receiver.')
    }
    this.#started += 1
    const name = `receiver-${this.#started}`
    const receiver = new Receiver({ secret: await readSecret(secret, this.#io), respond })
    this.#receivers.set(name, receiver)
    try {
      const { url } = await receiver.start()
      return { receiver: name, url }
    } catch (error) {
      this.#receivers.delete(name)
      throw error
    }
  }

  async stop(name: string): Promise<object> {
    const receiver = this.#named(name)
    this.#receivers.delete(name)
    await receiver.close()
    return { stopped: name }
  }

  /** Waits until an expectation is decided. Returns the webhooks that met it, or the webhook that came closest. */
  async wait(request: WaitRequest, signal: AbortSignal): Promise<object> {
    const { receiver, match, after, timeoutSeconds } = request
    const options = { after, timeoutMs: timeoutSeconds * 1_000, signal }
    const { result, events } = await this.#named(receiver).judge(match, options)
    const { state, account, matched, shortfall } = result
    // For an unmet expectation, show only the event that explains the failure best.
    const near = shortfall?.reason === 'too_many' ? shortfall.surplus : shortfall?.nearest
    const closest = near === undefined ? [] : [near]
    const shown = shortfall === undefined ? events.slice(0, eventsMax) : closest
    const difference = shortfall?.reason === 'too_few' ? shortfall.difference : []
    const untrusted = { ...boundedEvents(shown), difference }
    return { met: state === 'met', account, matched, untrusted }
  }

  /** Returns requests that the receiver still keeps, oldest first. */
  read({ receiver: name, match, after, limit }: ReadRequest): object {
    const receiver = this.#named(name)
    const wanted = match === undefined ? undefined : parseMatch(match)
    const events = receiver.events.filter(
      (event) => event.seq > after && wanted?.test(event) !== false,
    )
    const { counts } = receiver
    const more = Math.max(0, events.length - limit)
    return { counts, more, untrusted: boundedEvents(events.slice(0, limit)) }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#receivers.values()].map((receiver) => receiver.close()))
  }

  #named(name: string): Receiver {
    const receiver = this.#receivers.get(name)
    if (receiver !== undefined) return receiver
    const names = [...this.#receivers.keys()].join(', ')
    const hint = names === '' ? 'Start one with start_receiver.' : `The receivers are ${names}.`
    throw new SettingError('receiver', `There is no receiver "${name}"`, hint)
  }
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
