import { open, stat, type FileHandle } from 'node:fs/promises'
import { recordLine, type EvrouteError } from '../../model/index.ts'
import { eventRecord, type ReceivedEvent } from '../../receiver/index.ts'
import { cannotWrite } from '../output/error.ts'

/** An NDJSON file to which requests are appended, each with its raw bytes in base64. */
export class Capture {
  readonly #path: string
  readonly #file: FileHandle
  readonly #failure = new AbortController()
  #written: Promise<void> = Promise.resolve()

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  /** @throws EvrouteError `cannot_write_file` */
  static async open(path: string): Promise<Capture> {
    try {
      const file = await open(path, 'a', 0o600)
      // A crash can leave an incomplete line. The next record must not become part of it.
      if (await isTorn(path)) await file.appendFile('\n')
      return new Capture(path, file)
    } catch (error) {
      throw cannotSave(path, error)
    }
  }

  /** Aborts when a write fails. Later requests are not written. */
  get failed(): AbortSignal {
    return this.#failure.signal
  }

  /** Resolves when the request has been written, or the write has failed. */
  append(event: ReceivedEvent): Promise<void> {
    this.#written = this.#written.then(() => this.#write(event))
    return this.#written
  }

  /** @throws EvrouteError `cannot_write_file` if a request could not be written */
  async close(): Promise<void> {
    await this.#written
    await this.#file.close().catch((error: unknown) => this.#fail(error))
    this.failed.throwIfAborted()
  }

  async #write(event: ReceivedEvent): Promise<void> {
    if (this.failed.aborted) return
    try {
      await this.#file.appendFile(recordLine(eventRecord(event)))
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#failure.abort(cannotSave(this.#path, error))
  }
}

/** Whether a file ends in the middle of a line; false for pipes and devices. */
async function isTorn(path: string): Promise<boolean> {
  const info = await stat(path)
  if (!info.isFile() || info.size === 0) return false
  const file = await open(path, 'r')
  try {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, info.size - 1)
    return buffer.toString() !== '\n'
  } finally {
    await file.close()
  }
}

function cannotSave(path: string, cause: unknown): EvrouteError {
  const hint = 'Check that the folder exists and is writable.'
  return cannotWrite(`Cannot save to ${path}`, hint, cause)
}
