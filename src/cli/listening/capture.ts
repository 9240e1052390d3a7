import { open, stat, type FileHandle } from 'node:fs/promises'
import { EvrouteError, recordLine } from '../../model/index.ts'
import { eventRecord, type ReceivedEvent } from '../../receiver/index.ts'
import { cannotWrite } from '../output/error.ts'

/** Opens an NDJSON file to append requests to. Throws `cannot_write_file`; so does `close` if a write has failed. */
export async function openCapture(path: string) {
  const failure = new AbortController()
  const fail = (error: unknown): void => failure.abort(cannotSave(path, error))
  const file = await openToAppend(path).catch((error: unknown) => {
    throw error instanceof EvrouteError ? error : cannotSave(path, error)
  })
  const write = async (event: ReceivedEvent): Promise<void> => {
    if (!failure.signal.aborted) await file.appendFile(recordLine(eventRecord(event))).catch(fail)
  }
  /** Aborts when a write fails. Later requests are not written. */
  const failed: AbortSignal = failure.signal
  let written: Promise<void> = Promise.resolve()
  return {
    failed,
    append: (event: ReceivedEvent): Promise<void> => (written = written.then(() => write(event))),
    close: async (): Promise<void> => {
      await written
      await file.close().catch(fail)
      failure.signal.throwIfAborted()
    },
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  const [first, last] = await edgesOf(path)
  if (first.equals(gzipMagic)) {
    const message = `Cannot save to ${path}: it is compressed, so nothing can be appended to it`
    throw new EvrouteError({ code: 'cannot_write_file', message, hint: 'Name a different file.' })
  }
  const file = await open(path, 'a', 0o600)
  // A crash can leave an incomplete line. The next record must not become part of it.
  if (last.length > 0 && last.toString() !== '\n') await file.appendFile('\n')
  return file
}

const gzipMagic = Buffer.of(0x1f, 0x8b)

/** Returns the first two bytes of a file and its last one; nothing for an empty file, a pipe or a device. */
async function edgesOf(path: string): Promise<readonly [first: Buffer, last: Buffer]> {
  const info = await stat(path).catch(() => undefined)
  if (info?.isFile() !== true || info.size === 0) return [Buffer.alloc(0), Buffer.alloc(0)]
  await using file = await open(path, 'r')
  const read = async (from: number, bytes: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, from)
    return buffer.subarray(0, bytesRead)
  }
  return [await read(0, 2), await read(info.size - 1, 1)]
}

function cannotSave(path: string, cause: unknown): EvrouteError {
  const hint = 'Check that the folder exists and is writable.'
  return cannotWrite(`Cannot save to ${path}`, hint, cause)
}
