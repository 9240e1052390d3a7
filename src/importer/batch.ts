import { isJsonObject, mergeBatch, type BatchDefaults, type JsonObject } from '../model/index.ts'
import { closeBrace, openBrace } from './json-bytes.ts'
import { badRow, parseJson, type BadRow, type Row } from './row.ts'

/**
 * Text of a batch document's calls up to which they are held, so that a context and integrations
 * that stand after them still count: 4 MiB. Beyond it only what stands before the calls counts.
 */
export const heldBatchBytesMax: number = 4 * 1024 * 1024

/** What a held row counts at least, since even `{}` takes memory. */
const heldRowBytesMin = 256

/** The members of a batch document that apply to each of its calls. */
const sharedMembers: readonly (keyof BatchDefaults)[] = ['context', 'integrations']

/** Puts a batch document's context and integrations under each of its calls. */
export class Batch {
  #shared: BatchDefaults = {}
  #held: Row[] = []
  #heldBytes = 0
  #isStreaming = false

  /** What the held rows count together, in bytes of text. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /**
   * Takes members of the document that stand beside its calls, separated by commas.
   *
   * @param line - the line on which they begin
   * @returns what is wrong with them
   */
  addMembers(text: Buffer, line: number): readonly BadRow[] {
    const parsed = parseJson(Buffer.concat([Buffer.of(openBrace), text, Buffer.of(closeBrace)]))
    if (parsed.kind === 'invalid') {
      const message = `What stands around the calls of the batch is not valid ${parsed.problem}`
      return [badRow(line, 'invalid_json', message)]
    }
    const members = parsed.value as JsonObject
    if ('batch' in members) {
      return [badRow(line, 'invalid_json', 'A batch document may have one batch only')]
    }
    return sharedMembers
      .map((name) => this.#addMember(name, members[name], line))
      .filter((row) => row !== undefined)
  }

  /** Takes the next row, of so many bytes of text, and adds the rows that are ready. */
  addRow(row: Row, bytes: number, rows: Row[]): void {
    if (this.#isStreaming) {
      rows.push(this.#merged(row))
      return
    }
    this.#held.push(row)
    this.#heldBytes += Math.max(bytes, heldRowBytesMin)
    if (this.#heldBytes > heldBatchBytesMax) this.release(rows)
  }

  /** Adds the rows that are held; from now on none is. */
  release(rows: Row[]): void {
    for (const row of this.#held) rows.push(this.#merged(row))
    this.#held = []
    this.#heldBytes = 0
    this.#isStreaming = true
  }

  #addMember(name: keyof BatchDefaults, value: unknown, line: number): BadRow | undefined {
    if (value === undefined || value === null) return undefined
    if (!isJsonObject(value)) {
      return badRow(line, 'wrong_type', `The ${name} of a batch must be an object`)
    }
    if (this.#isStreaming) {
      const message =
        `The ${name} of the batch does not reach its calls: it stands after more than ` +
        `${heldBatchBytesMax} bytes of them, and must stand before`
      return badRow(line, 'event_too_large', message)
    }
    this.#shared = { ...this.#shared, [name]: value }
    return undefined
  }

  #merged(row: Row): Row {
    return row.kind === 'bad' ? row : { ...row, value: mergeBatch(row.value, this.#shared) }
  }
}
