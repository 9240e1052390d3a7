import { openInput } from '../importer/index.ts'
import { EvrouteError } from '../model/index.ts'
import { stoppable, type Io } from './io.ts'
import { tellOfTerminalInput } from './terminal-input.ts'

/** Far above any webhook; protects memory from a wrong file. */
const bodyBytesMax = 64 * 1024 * 1024

/**
 * Reads the raw bytes of a file, or of stdin for `-`.
 *
 * @returns undefined if the command must end early
 * @throws EvrouteError `cannot_read_file`
 */
export function readBody(path: string, io: Io): Promise<Buffer | undefined> {
  tellOfTerminalInput([path], io)
  return stoppable(readBytes(path, io), io.stop)
}

async function readBytes(path: string, io: Io): Promise<Buffer> {
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
