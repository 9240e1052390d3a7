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

/**
 * Opens a viewer for the requests of a capture: the page and the API of a receiver. Refuses webhooks. Throws
 * `port_in_use` or `cannot_listen`.
 */
export async function openCaptureViewer({
  port,
  resendTo,
  secret,
}: {
  readonly port: number
  /** The URL to which the page resends requests; undefined to disable resending. */
  readonly resendTo: string | undefined
  /** The secret for signing edited requests; undefined to leave them unsigned. */
  readonly secret: string | undefined
}) {
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
      answer: (request, response) => api.answer(request, response),
      receive: (_request, response) => {
        sendAnswer(response, refusal)
        return Promise.resolve()
      },
    },
    runtimeLog,
  )
  const listening = await listen(app, { host: '127.0.0.1', port })
  return {
    url: listening.url,
    counts: () => ({ shown: log.events.length, read: log.counts.received }),
    add: (event: UnnumberedEvent): Promise<void> => log.add(() => event),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      waits.endAll()
      await listening.close()
    },
  }
}

const refusal = errorAnswer(
  405,
  'method_not_allowed',
  'This server shows a capture and receives no webhooks: run evroute listen',
)
