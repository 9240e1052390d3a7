// Signs and posts what the main thread hands over, for its shard of the destinations.
import { parentPort, workerData } from 'node:worker_threads'
import { Gathering } from '../../../dist/runtime/gathering.js'
import { WebhookSender } from '../../../dist/webhook/index.js'
import { connectToFake } from './fake-endpoint.ts'
import type {
  SenderJob,
  SenderMessage,
  SenderResult,
  SenderThreadSettings,
} from './sender-messages.ts'
import { ownThreadId } from './thread-times.ts'

const { destinations, isFake } = workerData as SenderThreadSettings
if (isFake) connectToFake()
const senders = new Map(
  destinations.map((destination) => [destination.id, new WebhookSender({ destination })]),
)
const results = new Gathering<SenderResult>({
  send: (gathered) => say({ kind: 'results', results: gathered }),
  later: (send) => void setImmediate(send),
})

function say(message: SenderMessage): void {
  parentPort?.postMessage(message)
}

async function post(job: SenderJob): Promise<void> {
  const { number, destinationId, endpoint, messageId, body } = job
  const sender = senders.get(destinationId)
  if (sender === undefined) throw new Error(`${destinationId} belongs to another thread`)
  results.say({ number, outcome: await sender.post(endpoint, { messageId, body }) })
}

parentPort?.on('message', (jobs: readonly SenderJob[]) => {
  for (const job of jobs) void post(job)
})
say({ kind: 'started', threadId: ownThreadId() })
