import { constants, createReadStream, open } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'

/** Size of one read from a file. The rows of a read are parsed together, so larger reads take more memory. */
const readBytes = 128 * 1024

/** Returns the bytes of a file, or of stdin for `-`. Throws `cannot_read_file`, at once or during iteration. */
export async function openInput(
  path: string,
  stdin?: AsyncIterable<Uint8Array>,
): Promise<AsyncIterable<Uint8Array>> {
  if (path === '-' && stdin !== undefined) return stdin
  const fail = (error: unknown): never => {
    throw cannotRead(path, error)
  }
  const file = await stat(path).catch(fail)
  if (file.isDirectory()) {
    throw new EvrouteError({
      code: 'cannot_read_file',
      message: `Cannot read ${path}: it is a folder`,
      hint: 'Name a file in it.',
    })
  }
  await access(path, constants.R_OK).catch(fail)
  return readFileBytes(path, file.isFIFO())
}

async function* readFileBytes(path: string, isPipe: boolean): AsyncGenerator<Uint8Array> {
  try {
    const stream = isPipe
      ? await openPipe(path)
      : createReadStream(path, { highWaterMark: readBytes })
    for await (const chunk of stream) yield chunk as Buffer
  } catch (error) {
    throw cannotRead(path, error)
  }
}

/**
 * Opens a pipe as a socket. Reading a pipe like a file would keep the process alive until the writer ends. Outside of
 * Linux, waits for a writer, because a pipe without a writer would be at its end.
 */
async function openPipe(path: string): Promise<Readable> {
  const { Socket } = await import('node:net')
  const { O_RDONLY, O_NONBLOCK } = constants
  const flags = process.platform === 'linux' ? O_RDONLY | O_NONBLOCK : O_RDONLY
  return new Socket({ fd: await promisify(open)(path, flags), writable: false })
}

function cannotRead(path: string, cause: unknown): EvrouteError {
  const isMissing = systemCode(cause) === 'ENOENT'
  return new EvrouteError({
    code: 'cannot_read_file',
    message: `Cannot read ${path}: ${isMissing ? 'it does not exist' : messageOf(cause)}`,
    hint: isMissing
      ? 'Check the path, or pass - to read from standard input.'
      : 'Check that you may read the file.',
    cause,
  })
}
