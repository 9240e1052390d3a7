// Reads files of calls in its own process, with the importer or with a minimal loop.
import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { openInput, readRows } from '../../../dist/importer/index.js'
import { stopwatch } from '../../../dist/runtime/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import type { HistoryFormat } from './history.ts'

/** `evroute` reads with the importer, `limit` with a minimal loop. */
export type ParserName = 'evroute' | 'limit'

export interface ParserQuestion {
  readonly path: string
  readonly format: HistoryFormat
}

/** What was read, and how fast. */
export interface ParserAnswer {
  readonly rows: number
  readonly rowsPerSecond: number
}

/** Bytes per read, as in the importer. */
const readBytes = 128 * 1024

async function importRows({ path }: ParserQuestion): Promise<number> {
  let rows = 0
  for await (const group of readRows(await openInput(path, process.stdin))) {
    for (const row of group) if (row.kind === 'row') rows++
  }
  return rows
}

/**
 * The limit: splits the bytes of a stream at line feeds, then decodes and parses each line. That is faster
 * than `readline`, and than splitting the decoded text. It detects no format, counts no lines, limits no
 * sizes, and fails at the first invalid row.
 */
async function parseLines({ path, format }: ParserQuestion): Promise<number> {
  const file = createReadStream(path, { highWaterMark: readBytes })
  const input = format === 'gz' ? file.pipe(createGunzip({ chunkSize: readBytes })) : file
  let rows = 0
  let partial: Buffer = Buffer.alloc(0)
  for await (const chunk of input as AsyncIterable<Buffer>) {
    const bytes = partial.length === 0 ? chunk : Buffer.concat([partial, chunk])
    let start = 0
    for (let end = bytes.indexOf('\n'); end !== -1; end = bytes.indexOf('\n', start)) {
      if (isObject(JSON.parse(bytes.toString('utf8', start, end)))) rows++
      start = end + 1
    }
    partial = bytes.subarray(start)
  }
  return rows
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

const read = programSettings() === 'evroute' ? importRows : parseLines

answerQuestions(async (question: ParserQuestion): Promise<ParserAnswer> => {
  const elapsedMs = stopwatch()
  const rows = await read(question)
  return { rows, rowsPerSecond: (rows * 1_000) / elapsedMs() }
})
