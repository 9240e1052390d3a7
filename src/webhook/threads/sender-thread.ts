// The program of a thread that sends webhooks.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, type MessagePort } from 'node:worker_threads'
import { AddressGuard } from '../../http/index.ts'
import { createRuntime } from '../../runtime/index.ts'
import { answerCalls } from '../../threads/index.ts'
import type { ConnectionKind } from '../connections.ts'
import { WebhookSender } from '../sender.ts'
import type { SenderParts, SenderWarning } from './sender-parts.ts'

if (parentPort !== null) answerSenderCalls(parentPort)

function answerSenderCalls(port: MessagePort): void {
  const { random } = createRuntime()
  const parts: SenderParts = {
    thread: {
      open: ({ number, options: { guard, ...options } }) => {
        let connections: ConnectionKind[] = []
        const sender = new WebhookSender({
          ...options,
          guard: guard && new AddressGuard(guard),
          random,
          log: { warn: (message, fields) => warn({ sender: number, message, fields }) },
          onConnection: (kind) => connections.push(kind),
        })
        const { endpoints } = options.destination
        const endpointsByUrl = new Map(endpoints.map((endpoint) => [endpoint.url, endpoint]))
        parts[number] = {
          post: async (webhook) => {
            const endpoint = endpointsByUrl.get(webhook.url)
            if (endpoint === undefined)
              throw new Error(`This thread has no sender for ${webhook.url}`)
            const outcome = await sender.post(endpoint, webhook)
            const result = { outcome, connections }
            connections = []
            return result
          },
          close: async () => {
            await sender.close()
            Reflect.deleteProperty(parts, number)
          },
        }
        return Promise.resolve()
      },
      // The caller then ends the thread, which interrupts requests in flight.
      close: () => Promise.resolve(),
    },
  }
  const warn: (warning: SenderWarning) => void = answerCalls(port, {
    parts,
    later: (send) => void nextTurn().then(send),
  })
}
