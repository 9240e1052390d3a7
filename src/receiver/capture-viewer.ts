import type { ServerResponse } from 'node:http'
import { errorAnswer, listen, sendAnswer } from '../http/index.ts'
import { createRuntime } from '../runtime/index.ts'
import { receiverApp } from './app.ts'
import { EventLog } from './event-log.ts'
import { Expectations } from './expectations.ts'
import type { UnnumberedEvent } from './received-event.ts'
import { WaitApi } from './wait-api.ts'
import { Waits } from './waits.ts'

/** Maximum number of requests to show. The oldest are dropped. */
const eventsMax = 100_000

/** Options for {@link openCaptureViewer}. */
export interface CaptureViewerOptions {
  /** The port on 127.0.0.1; 0 for a free one. */
  readonly port: number
  /** The URL to which the page resends requests; undefined to disable resending. */
  readonly resendTo: string | undefined
  /** The secret for signing edited requests; undefined to leave them unsigned. */
  readonly secret: string | undefined
}

/** Serves the page and the API of a receiver for the requests of a capture. */
export interface CaptureViewer extends AsyncDisposable {
  /** The viewer's URL, without a path. */
  readonly url: string
  /** The number of requests that are shown, and that were added. */
  readonly counts: () => { readonly shown: number; readonly read: number }
  /** Adds a request from the capture. */
  readonly add: (event: UnnumberedEvent) => Promise<void>
}

/** Opens a viewer. It receives no webhooks. Throws `port_in_use` or `cannot_listen`. */
export async function openCaptureViewer({
  port,
  resendTo,
  secret,
}: CaptureViewerOptions): Promise<CaptureViewer> {
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
    passesOn: false,
  })
  const app = receiverApp(
    {
      ask: (request, response) => api.answer(request, response),
      receive: (_request, response) => refuseWebhook(response),
    },
    runtimeLog,
  )
  const listening = await listen(app, { host: '127.0.0.1', port })
  return {
    url: listening.url,
    counts: () => ({ shown: log.events.length, read: log.counts.received }),
    add: (event) => log.add(() => event),
    [Symbol.asyncDispose]: async () => {
      waits.endAll()
      await listening.close()
    },
  }
}

function refuseWebhook(response: ServerResponse): Promise<void> {
  sendAnswer(
    response,
    errorAnswer(405, 'method_not_allowed', 'A capture is open here: it receives no webhooks'),
  )
  return Promise.resolve()
}
