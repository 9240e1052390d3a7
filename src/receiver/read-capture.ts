import { readRows } from '../importer/index.ts'
import { captureRowBytesMax } from '../model/index.ts'
import { readEventRecord } from './event-record.ts'
import type { ReceivedEvent } from './received-event.ts'

/** A part of a capture: requests, and the lines that are not records of `listen`. */
export interface CapturePart {
  readonly events: readonly ReceivedEvent[]
  readonly badRows: readonly { readonly line: number; readonly problem: string }[]
}

/** Reads the requests of a capture, gzipped or not. Skips other records of `listen`. Throws `cannot_read_file`. */
export async function* readCapture(input: AsyncIterable<Uint8Array>): AsyncGenerator<CapturePart> {
  for await (const rows of readRows(input, captureRowBytesMax)) {
    const events: ReceivedEvent[] = []
    const badRows: CapturePart['badRows'][number][] = []
    for (const row of rows) {
      const record = row.kind === 'bad' || row.value['v'] !== 1 ? undefined : row.value
      const event = record?.['kind'] === 'event' ? readEventRecord(record) : undefined
      if (event !== undefined) {
        events.push(event)
      } else if (typeof record?.['kind'] !== 'string' || record['kind'] === 'event') {
        const problem = row.kind === 'bad' ? row.message : 'it was not written by evroute listen'
        badRows.push({ line: row.line, problem })
      }
    }
    yield { events, badRows }
  }
}
