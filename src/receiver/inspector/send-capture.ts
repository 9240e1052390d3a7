import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Match } from '../../match/index.ts'
import { recordLine } from '../../model/index.ts'
import { silentLog } from '../../runtime/index.ts'
import { drained } from '../api-exchange.ts'
import { EventLog } from '../event-log.ts'
import { eventRecord } from '../event-record.ts'
import { readCapture } from '../read-capture.ts'
import type { Waits } from '../waits.ts'
import { EventSummaries } from './event-summary.ts'

/** Maximum requests to send. From a larger capture, only the newest ones are sent. */
const eventsMax = 10_000

/**
 * Reads a capture from `request`, and answers with NDJSON. Each captured request gets a number, counting from 1, and a
 * line with its summary and record. The last line has the counts. The receiver keeps no captured request.
 */
export async function sendCapture(
  request: IncomingMessage,
  response: ServerResponse,
  { match, waits }: { readonly match: Match | undefined; readonly waits: Waits },
): Promise<void> {
  const log = new EventLog(eventsMax, silentLog, waits)
  let badRows = 0
  for await (const part of readCapture(request)) {
    badRows += part.badRows.length
    for (const event of part.events) await log.add(() => event)
  }
  response.setHeader('content-type', 'application/x-ndjson')
  const summaries = new EventSummaries(log)
  let seq = 0
  for (;;) {
    const batch = summaries.after(seq)
    if (batch.length === 0) break
    for (const event of batch) {
      if (match?.test(event) === false) continue
      if (response.destroyed) return
      const line = recordLine({ summary: summaries.of(event), record: eventRecord(event) })
      if (!response.write(line)) await drained(response)
    }
    seq = batch.at(-1)?.seq ?? seq
  }
  const read = log.counts.received
  response.end(recordLine({ read, shown: log.events.length, badRows }))
}
