import { Readable } from 'node:stream'
import { readRows, type Row } from '../../src/importer/index.ts'

/** Splits bytes into chunks of one size. */
export function* slices(bytes: Uint8Array, sliceBytes: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes)
}

/** Makes a stream of chunks of one size, by default of a single chunk. */
export function inChunks(bytes: Uint8Array, chunkBytes: number = bytes.length): Readable {
  return Readable.from(slices(bytes, chunkBytes))
}

/** Reads all rows of a text or file. */
export async function rowsOf(
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
): Promise<readonly Row[]> {
  const isContent = typeof content === 'string' || content instanceof Uint8Array
  const rows: Row[] = []
  for await (const group of readRows(isContent ? inChunks(Buffer.from(content)) : content)) {
    rows.push(...group)
  }
  return rows
}

/** Summarises a row: its line, and its value or code. */
export function brief(row: Row): readonly [line: number, what: unknown] {
  return [row.line, row.kind === 'row' ? row.value : row.code]
}

/** Summarises the rows of a text. */
export async function briefOf(content: Parameters<typeof rowsOf>[0]): Promise<readonly unknown[]> {
  return (await rowsOf(content)).map(brief)
}
