import { constants, createReadStream } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'

/** Size of one read from a file. The rows of a read are parsed together, so larger reads take more memory. */
const readBytes = 128 * 1024

/** Returns the bytes of a file, or of stdin for `-`. Throws `cannot_read_file`, also during iteration. */
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
  return readFileBytes(path)
}

async function* readFileBytes(path: string): AsyncGenerator<Uint8Array> {
  const stream = createReadStream(path, { highWaterMark: readBytes })
  try {
    for await (const chunk of stream) yield chunk as Buffer
  } catch (error) {
    throw cannotRead(path, error)
  }
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
