import { openInput } from '../importer/index.ts'
import { EvrouteError } from '../model/index.ts'
import type { Io } from './io.ts'

/** Far above any webhook; it keeps a mistaken file from filling the memory. */
const bodyBytesMax = 64 * 1024 * 1024

/**
 * Reads the raw bytes of a file, or of stdin for `-`.
 *
 * @throws EvrouteError `cannot_read_file`
 */
export async function readBody(path: string, io: Io): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of await openInput(path, io.stdin)) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) {
      throw new EvrouteError({
        code: 'cannot_read_file',
        message: `Cannot read ${path}: it has more than ${bodyBytesMax} bytes`,
        hint: 'A webhook has 1 MB at the most.',
      })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
