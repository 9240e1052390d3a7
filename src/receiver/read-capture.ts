import { readRows } from '../importer/index.ts'
import { captureRowBytesMax } from '../model/index.ts'
import type { ReceivedEvent } from './received-event.ts'
import { readEventRecord } from './read-event-record.ts'

/** What was read of a capture: the requests of some rows, and how many other rows are no records of `listen`. */
export interface CapturePart {
  readonly events: readonly ReceivedEvent[]
  readonly badRows: number
}

/** Reads the requests of a capture as it streams by, compressed or not. */
export async function* readCapture(input: AsyncIterable<Uint8Array>): AsyncGenerator<CapturePart> {
  for await (const rows of readRows(input, captureRowBytesMax)) {
    const events: ReceivedEvent[] = []
    let badRows = 0
    for (const row of rows) {
      const record = row.kind === 'bad' || row.value['v'] !== 1 ? undefined : row.value
      const event = record?.['kind'] === 'event' ? readEventRecord(record) : undefined
      if (event !== undefined) events.push(event)
      else if (typeof record?.['kind'] !== 'string' || record['kind'] === 'event') badRows += 1
    }
    yield { events, badRows }
  }
}
