import { once } from 'node:events'
import { eventTypes, imbalances, sampleCall } from '../../model/index.ts'
import { eventRecord, Receiver, SummaryMemory } from '../../receiver/index.ts'
import { createRuntime, stoppable, stopwatch } from '../../runtime/index.ts'
import type { DemoValues } from '../commands/demo.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter, type Io } from '../io.ts'
import { inspectorUrl } from '../listening/inspector-page.ts'
import { eventText } from '../listening/event-text.ts'
import { programName } from '../output/command-line.ts'
import { styleOf } from '../output/style.ts'
import { Report } from '../sending/report.ts'
import { summaryLine } from '../sending/report-text.ts'
import { readSendingOptions } from '../sending/sending-options.ts'
import type { Outlet } from '../sending/outlet.ts'
import { openWebhookOutlet } from '../sending/webhook-outlet.ts'
import { signBody } from '../../webhook/index.ts'

const secret = 'demo-secret-that-is-no-secret'
const received = 'received '

/** Sends a sample call of each type to a local receiver, and prints what was sent and received. */
export async function demo({ json, color, page }: DemoValues, io: Io): Promise<ExitCode> {
  const elapsedMs = stopwatch()
  const stdout = new DataWriter(io)
  const style = styleOf(io, 'stdout', color)
  const print = (text: string): void => {
    if (!json) stdout.write(text)
  }
  await using receiver = new Receiver({ secret })
  const memory = new SummaryMemory()
  receiver.on('event', (event) => {
    if (json) stdout.record(eventRecord(event))
    const columns = io.stdout.columns && io.stdout.columns - received.length
    const view = { style, memory, verbose: false, columns, program: programName(io) }
    print(`${style.faint(received)}${eventText(event, view)}`)
  })
  const { url } = await receiver.start()
  print(
    `${style.strong('One call of each type, and one deletion')}:\n` +
      'through the batching client, the router and the sender,\n' +
      `signed, to a receiver at ${style.name(url)}\n\n`,
  )
  const options = await readSendingOptions({ to: [`${url}/`], secret }, io)
  if (options.target.kind !== 'webhooks') return exitCodes.internal
  const report = new Report(io, { ...options, json, color, quiet: true }, elapsedMs)
  const runtime = createRuntime({ observer: report })
  const outlet = await openWebhookOutlet({ options, target: options.target, runtime, report })
  for (const [index, type] of eventTypes.entries()) {
    print(`${style.faint('sent     ')}${type}\n`)
    await outlet.offer(sampleCall(type), { line: index + 1 })
    await outlet.finish()
  }
  const all = eventTypes.length
  const ledger = { ...(await outlet.ledger()), read: all, rejected: report.rejectedRows }
  const isRight =
    imbalances(ledger).length === 0 && ledger.delivered === all && receiver.counts.valid === all
  const durationMs = elapsedMs()
  if (json) report.summary(ledger, durationMs)
  print(`\n${summaryLine(ledger, durationMs, { style })}`)
  print(
    '\nNow try it with your own receiver, in two terminals:\n' +
      `  ${style.strong('npx evroute listen --secret s3cret')}\n` +
      `  ${style.strong('npx evroute send track --secret s3cret')}\n`,
  )
  if (page) await stoppable(makeMistakes(receiver, url, outlet), io.stop)
  if (page && !io.stop.aborted) {
    io.stderr.write(`\nSee them on the page: ${inspectorUrl(url) ?? ''}\nPress Ctrl-C to stop.\n`)
    await once(io.stop, 'abort')
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
  // Sign with a different secret, like a sender that missed a rotation.
  const headers = { 'x-signature': signBody(body, `${secret} `) }
  const answer = await fetch(url, { method: 'POST', body, headers })
  await answer.arrayBuffer()
}
