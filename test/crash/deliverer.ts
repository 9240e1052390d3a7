// Delivers from a file until it is killed. Its arguments are the URL of the endpoint, the path of the file,
// and optionally a fault. Each line on stdin is a call; `finish` makes it report when it is idle. On stdout,
// it reports each step as a line, as soon as the step is done. It ends when its stdin is closed.
import { createInterface } from 'node:readline'
import { Dispatcher } from '../../src/delivery/index.ts'
import { Intake } from '../../src/intake/index.ts'
import { createRuntime, silentObserver } from '../../src/runtime/index.ts'
import { openStore } from '../../src/store/index.ts'
import { checkDestination, WebhookSender } from '../../src/webhook/index.ts'
import { concurrency, requestsMax, retryPolicy } from './deliverer-settings.ts'
import { EarlyAnswers, withoutReturn } from './faults.ts'

const [url = '', path = '', fault] = process.argv.slice(2)
const sourceId = 'website'

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

print('loaded')
const opened = await openStore(`sqlite:${path}`, { ownThread: true })
print('opened')
const store = fault === 'leases-never-returned' ? withoutReturn(opened, `${path}-held`) : opened
const endpoints = [{ url }]
const destination = checkDestination({ id: 'crm', sourceIds: [sourceId], endpoints, concurrency })
const sender = new WebhookSender({ destination })
const runtime = createRuntime({
  observer: {
    ...silentObserver,
    settled: ({ messageId, state }) => print(`settled ${messageId} ${state}`),
  },
})
const targets = [{ destination, sender, retryPolicy }]
const dispatcher = new Dispatcher({ store, targets, runtime, requestsMax })
const early = new EarlyAnswers((events) => dispatcher.add(events))
const intake = new Intake({
  add: (events) => (fault === 'ack-before-commit' ? early.add(events) : dispatcher.add(events)),
  destinations: [destination],
  runtime,
})

async function accept(line: string): Promise<void> {
  const calls = [JSON.parse(line) as unknown]
  for (const result of await intake.accept({ sourceId, calls })) {
    if (result.kind === 'rejected') throw new Error(`The call was rejected: ${line}`)
    print(`acknowledged ${result.event.messageId} ${result.outcome}`)
  }
}

async function finish(): Promise<void> {
  await early.flush()
  await dispatcher.idle()
  print('idle')
}

async function close(): Promise<void> {
  await dispatcher.stop()
  await sender.close()
  await store.close()
}

// Deliver what the previous process left behind.
dispatcher.wake()
print('ready')
createInterface({ input: process.stdin })
  .on('line', (line) => void (line === 'finish' ? finish() : accept(line)))
  .on('close', () => void close())
