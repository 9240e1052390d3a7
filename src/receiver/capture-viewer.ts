import type { ServerResponse } from 'node:http'
import { errorAnswer, listen, sendAnswer, type Listening } from '../http/index.ts'
import { createRuntime } from '../runtime/index.ts'
import { receiverApp } from './app.ts'
import { EventLog } from './event-log.ts'
import { Expectations } from './expectations.ts'
import type { UnnumberedEvent } from './received-event.ts'
import { WaitApi } from './wait-api.ts'
import { Waits } from './waits.ts'

/** Requests that are kept; of more, the newest. */
const eventsMax = 100_000

/** The settings of a viewer. */
export interface CaptureViewerOptions {
  /** The port on 127.0.0.1; 0 for a free one. */
  readonly port: number
  /** Where requests are sent again; undefined for nowhere. */
  readonly resendTo: string | undefined
  /** Signs requests that are edited; undefined for no signature. */
  readonly secret: string | undefined
}

/** Shows a capture as its receiver showed it: the page, and everything below `/_evroute/`. It receives nothing. */
export class CaptureViewer implements AsyncDisposable {
  /** Its URL, without a path. */
  readonly url: string
  readonly #log: EventLog
  readonly #waits: Waits
  readonly #listening: Listening

  private constructor(parts: {
    readonly log: EventLog
    readonly waits: Waits
    readonly listening: Listening
  }) {
    this.url = parts.listening.url
    this.#log = parts.log
    this.#waits = parts.waits
    this.#listening = parts.listening
  }

  /** @throws EvrouteError `port_in_use` or `cannot_listen` */
  static async open({ port, resendTo, secret }: CaptureViewerOptions): Promise<CaptureViewer> {
    const { log: runtimeLog, clock } = createRuntime()
    const waits = new Waits(clock)
    const log = new EventLog(eventsMax, runtimeLog, waits)
    const api = new WaitApi({
      log,
      expectations: new Expectations(log, waits, clock),
      waits,
      secret,
      clock,
      urls: () => Promise.resolve(resendTo === undefined ? [] : [resendTo]),
      sessions: undefined,
      answers: undefined,
    })
    const app = receiverApp(
      {
        ask: (request, response) => api.answer(request, response),
        receive: (_request, response) => refuseWebhook(response),
      },
      runtimeLog,
    )
    const listening = await listen(app, { host: '127.0.0.1', port })
    return new CaptureViewer({ log, waits, listening })
  }

  /** Adds a request of the capture. */
  add(event: UnnumberedEvent): Promise<void> {
    return this.#log.add(() => event)
  }

  /** How many requests it shows, and how many there were. */
  get counts(): { readonly shown: number; readonly read: number } {
    return { shown: this.#log.events.length, read: this.#log.counts.received }
  }

  /** Closes the port. */
  async close(): Promise<void> {
    this.#waits.endAll()
    await this.#listening.close()
  }

  /** Closes at the end of a block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function refuseWebhook(response: ServerResponse): Promise<void> {
  sendAnswer(
    response,
    errorAnswer(405, 'method_not_allowed', 'This is a capture: it receives nothing'),
  )
  return Promise.resolve()
}
