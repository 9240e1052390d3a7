import { once } from 'node:events'
import {
  eventTypes,
  imbalances,
  type EventType,
  type Ledger,
  sampleCall,
} from '../../model/index.ts'
import { eventRecord, Receiver, SummaryMemory, type ReceivedEvent } from '../../receiver/index.ts'
import { createRuntime, stopwatch, type Observer } from '../../runtime/index.ts'
import type { DemoValues } from '../commands/demo.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter, type Io } from '../io.ts'
import { inspectorUrl } from '../listening/inspector-page.ts'
import { eventText } from '../listening/event-text.ts'
import { programName } from '../output/command-line.ts'
import { styleOf } from '../output/style.ts'
import { summaryLine, deliveryRecord, requestRecord } from '../sending/report-text.ts'
import { readSendingOptions } from '../sending/sending-options.ts'
import type { Outlet } from '../sending/outlet.ts'
import { openWebhookOutlet } from '../sending/webhook-outlet.ts'
import { signBody } from '../../webhook/index.ts'

const secret = 'demo-secret-that-is-no-secret'

/**
 * Sends a sample call of each type to a local receiver, and shows both sides. With `page`, then also serves the page,
 * until a signal.
 */
export async function demo(options: DemoValues, io: Io): Promise<ExitCode> {
  const elapsedMs = stopwatch()
  const view = options.json ? jsonView(io) : await textView(io, options)
  await using receiver = new Receiver({ secret })
  receiver.on('event', (event) => view.received(event))
  const { url } = await receiver.start()
  view.opened(url)
  const runtime = createRuntime({ observer: view })
  const sending = await readSendingOptions({ to: [`${url}/`], secret }, io)
  if (sending.target.kind !== 'webhooks') return exitCodes.internal
  const rejections: string[] = []
  const outlet = await openWebhookOutlet({
    options: sending,
    target: sending.target,
    runtime,
    listener: { rejected: (_, { code }) => rejections.push(code) },
  })
  for (const [index, type] of eventTypes.entries()) {
    view.sending(type)
    await outlet.offer(sampleCall(type), { line: index + 1 })
    await outlet.finish()
  }
  const ledger = {
    ...(await outlet.ledger()),
    read: eventTypes.length,
    rejected: rejections.length,
  }
  const all = eventTypes.length
  const isRight =
    imbalances(ledger).length === 0 && ledger.delivered === all && receiver.counts.valid === all
  view.closed(ledger, elapsedMs())
  if (options.page) {
    await makeMistakes(receiver, url, outlet)
    io.stderr.write(`\nSee them on the page: ${inspectorUrl(url) ?? ''}\nPress Ctrl-C to stop.\n`)
    if (!io.stop.aborted) await once(io.stop, 'abort')
  }
  await outlet.close()
  return isRight ? exitCodes.ok : exitCodes.internal
}

/** Sends a webhook that is retried, and one with a wrong signature. The page explains both. */
async function makeMistakes(receiver: Receiver, url: string, outlet: Outlet): Promise<void> {
  receiver.respondNext(503)
  await outlet.offer(sampleCall('track'), { line: eventTypes.length + 1 })
  await outlet.finish()
  const body = JSON.stringify({ version: 1, ...sampleCall('track') })
  // Sign with a different secret, like a sender after a forgotten rotation.
  const headers = { 'x-signature': signBody(body, `${secret} `) }
  const answer = await fetch(url, { method: 'POST', body, headers })
  await answer.arrayBuffer()
}

interface DemoView extends Observer {
  opened(url: string): void
  sending(type: EventType): void
  received(event: ReceivedEvent): void
  closed(ledger: Ledger, durationMs: number): void
}

function jsonView(io: Io): DemoView {
  const stdout = new DataWriter(io)
  return {
    opened: () => undefined,
    sending: () => undefined,
    received: (event) => stdout.record(eventRecord(event)),
    request: (request) => stdout.record(requestRecord(request)),
    settled: (delivery) => stdout.record(deliveryRecord(delivery)),
    endpoint: () => undefined,
    closed: (ledger, durationMs) =>
      stdout.record({ kind: 'summary', ...ledger, ms: Math.round(durationMs) }),
  }
}

async function textView(io: Io, options: DemoValues): Promise<DemoView> {
  const style = await styleOf(io, 'stdout', options.color)
  const memory = new SummaryMemory()
  const program = programName(io)
  const stdout = new DataWriter(io)
  const write = (text: string): void => stdout.write(text)
  return {
    opened: (url) =>
      write(
        `${style.strong('One call of each type, and one deletion')}:\n` +
          'through the batching client, the router and the sender,\n' +
          `signed, to a receiver at ${style.name(url)}\n\n`,
      ),
    sending: (type) => write(`${style.faint('sent     ')}${type}\n`),
    received: (event) => {
      const { columns } = io.stdout
      const room = columns === undefined ? undefined : columns - 9
      const text = eventText(event, { style, memory, verbose: false, columns: room, program })
      write(`${style.faint('received ')}${text}`)
    },
    request: () => undefined,
    settled: () => undefined,
    endpoint: () => undefined,
    closed: (ledger, durationMs) => {
      write(
        `\n${summaryLine(ledger, durationMs, { style })}` +
          '\nNow try it with your own receiver, in two terminals:\n' +
          `  ${style.strong('npx evroute listen --secret s3cret')}\n` +
          `  ${style.strong('npx evroute send track --secret s3cret')}\n`,
      )
    },
  }
}
