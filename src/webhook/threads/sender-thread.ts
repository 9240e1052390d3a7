// The program of a thread that sends webhooks.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { AddressGuard } from '../../http/index.ts'
import type { Endpoint } from '../../model/index.ts'
import { createRuntime, Gathering } from '../../runtime/index.ts'
import { WebhookSender } from '../sender.ts'
import type {
  ConnectionCounts,
  SenderAnswer,
  SenderMessage,
  SenderReport,
  ThreadSenderOptions,
} from './sender-messages.ts'

/** A sender, and its endpoints by their URL. */
interface OpenSender {
  readonly sender: WebhookSender
  readonly endpoints: ReadonlyMap<string, Endpoint>
}

const { random } = createRuntime()
const senders = new Map<number, OpenSender>()
let connections = new Map<number, ConnectionCounts>()
const answers = new Gathering<SenderAnswer>({
  send: (some) => {
    parentPort?.postMessage({ answers: some, connections } satisfies SenderReport)
    connections = new Map()
  },
  later: (send) => void nextTurn().then(send),
})

function open(sender: number, { guard, ...options }: ThreadSenderOptions): OpenSender {
  const opened = new WebhookSender({
    ...options,
    guard: guard && new AddressGuard(guard),
    random,
    log: { warn: (message, fields) => answers.say({ kind: 'warning', sender, message, fields }) },
    onConnection: (kind) => countsOf(sender)[kind]++,
  })
  const { endpoints } = options.destination
  return {
    sender: opened,
    endpoints: new Map(endpoints.map((endpoint) => [endpoint.url, endpoint])),
  }
}

function countsOf(sender: number): ConnectionCounts {
  const counts = connections.get(sender) ?? { opened: 0, reused: 0 }
  connections.set(sender, counts)
  return counts
}

async function take(message: SenderMessage): Promise<void> {
  const opened = senders.get(message.sender)
  switch (message.kind) {
    case 'open':
      senders.set(message.sender, open(message.sender, message.options))
      break
    case 'post': {
      const { request, url, webhook } = message
      const endpoint = opened?.endpoints.get(url)
      if (opened === undefined || endpoint === undefined) throw new Error(`No sender has ${url}`)
      answers.say({ kind: 'ended', request, outcome: await opened.sender.post(endpoint, webhook) })
      break
    }
    case 'close':
      await opened?.sender.close()
      senders.delete(message.sender)
      answers.say({ kind: 'closed', sender: message.sender })
      break
  }
}

parentPort?.on('message', (messages: readonly SenderMessage[]) => {
  for (const message of messages) void take(message)
})
