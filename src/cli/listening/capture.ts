import { open, stat, type FileHandle } from 'node:fs/promises'
import { recordLine, type EvrouteError } from '../../model/index.ts'
import { eventRecord, type ReceivedEvent } from '../../receiver/index.ts'
import { cannotWrite } from '../output/error.ts'

/** Opens an NDJSON file to append requests to. Throws `cannot_write_file`; so does `close` if a write has failed. */
export async function openCapture(path: string) {
  const failure = new AbortController()
  const fail = (error: unknown): void => failure.abort(cannotSave(path, error))
  const file = await openToAppend(path).catch((error: unknown) => {
    throw cannotSave(path, error)
  })
  const write = async (event: ReceivedEvent): Promise<void> => {
    if (!failure.signal.aborted) await file.appendFile(recordLine(eventRecord(event))).catch(fail)
  }
  /** Aborts when a write fails. Later requests are not written. */
  const failed: AbortSignal = failure.signal
  let written: Promise<void> = Promise.resolve()
  return {
    failed,
    /** Resolves when the request has been written, or the write has failed. */
    append: (event: ReceivedEvent): Promise<void> => (written = written.then(() => write(event))),
    close: async (): Promise<void> => {
      await written
      await file.close().catch(fail)
      failure.signal.throwIfAborted()
    },
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  const file = await open(path, 'a', 0o600)
  // A crash can leave an incomplete line. The next record must not become part of it.
  if (await isTorn(path)) await file.appendFile('\n')
  return file
}

/** Whether a file ends in the middle of a line; false for pipes and devices. */
async function isTorn(path: string): Promise<boolean> {
  const info = await stat(path)
  if (!info.isFile() || info.size === 0) return false
  await using file = await open(path, 'r')
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, info.size - 1)
  return buffer.toString() !== '\n'
}

function cannotSave(path: string, cause: unknown): EvrouteError {
  const hint = 'Check that the folder exists and is writable.'
  return cannotWrite(`Cannot save to ${path}`, hint, cause)
}
