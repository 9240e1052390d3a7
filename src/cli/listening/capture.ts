import { open, type FileHandle } from 'node:fs/promises'
import { EvrouteError, messageOf, recordLine } from '../../model/index.ts'
import { eventRecord, type ReceivedEvent } from '../../receiver/index.ts'

/** A file of NDJSON that every request is appended to, with its exact bytes in base64. */
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
      return new Capture(path, await open(path, 'a'))
    } catch (error) {
      throw cannotWrite(path, error)
    }
  }

  /** Aborts when the first request cannot be written; nothing is written after it. */
  get failed(): AbortSignal {
    return this.#failure.signal
  }

  /** Resolves once the request is written, or cannot be. */
  append(event: ReceivedEvent): Promise<void> {
    this.#written = this.#written.then(() => this.#write(event))
    return this.#written
  }

  /** @throws EvrouteError `cannot_write_file` when not every request could be written */
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
    this.#failure.abort(cannotWrite(this.#path, error))
  }
}

function cannotWrite(path: string, cause: unknown): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot save to ${path}: ${messageOf(cause)}`,
    hint: 'Check that the folder exists and may be written to.',
    cause,
  })
}
