import {
  batchDefaultsBytes,
  batchMerger,
  isJsonObject,
  isNestedDeeper,
  limits,
  type BatchDefaults,
  type JsonObject,
} from '../model/index.ts'
import { closeBrace, openBrace } from './json-bytes.ts'
import { badRow, parseJson, type BadRow, type Row } from './row.ts'

/**
 * Text of a batch document's calls up to which they are held, so that a context and integrations
 * that stand after them still count: 4 MiB. Beyond it only what stands before the calls counts.
 */
export const heldBatchBytesMax: number = 4 * 1024 * 1024

/** Upper bound of common fields for held rows: 4 KB under each of the maximum number of rows. */
export const heldMergedBytesMax: number = 64 * 1024 * 1024

/** Minimum size of a held row, since even `{}` takes memory. */
const heldRowBytesMin = 256

/** The members of a batch document that apply to each of its calls. */
const sharedMembers: readonly (keyof BatchDefaults)[] = ['context', 'integrations']

/** Puts a batch document's context and integrations under each of its calls. */
export class Batch {
  #shared: BatchDefaults = {}
  #sharedBytes = 0
  #merge = batchMerger({})
  #held: Row[] = []
  #heldBytes = 0
  #isStreaming = false

  /** Total size of the held rows, in bytes of text. */
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

  /** Takes the next row with its size in bytes of text, and adds the rows that are ready. */
  addRow(row: Row, bytes: number, rows: Row[]): void {
    if (this.#isStreaming) {
      rows.push(this.#merged(row, this.#problem(1)))
      return
    }
    this.#held.push(row)
    this.#heldBytes += Math.max(bytes, heldRowBytesMin)
    const isFull = (this.#held.length + 1) * this.#sharedBytes > heldMergedBytesMax
    if (isFull || this.#heldBytes > heldBatchBytesMax) this.release(rows)
  }

  /** Adds the rows that are held; from now on none is. */
  release(rows: Row[]): void {
    const problem = this.#problem(this.#held.length)
    for (const row of this.#held) rows.push(this.#merged(row, problem))
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
    if (isNestedDeeper(value, limits.callNestingMax)) {
      const message = `must not be nested more than ${limits.callNestingMax} levels deep`
      return badRow(line, 'wrong_type', `The ${name} of a batch ${message}`)
    }
    this.#shared = { ...this.#shared, [name]: value }
    this.#sharedBytes = batchDefaultsBytes(this.#shared)
    this.#merge = batchMerger(this.#shared)
    return undefined
  }

  #merged(row: Row, problem: string | undefined): Row {
    if (row.kind === 'bad') return row
    if (problem !== undefined) return badRow(row.line, 'event_too_large', problem)
    return { ...row, value: this.#merge(row.value) }
  }

  /** Why nothing can be merged into this many ready rows: a small file could fill the memory. */
  #problem(rowCount: number): string | undefined {
    const subject = `The context and integrations of the batch have ${this.#sharedBytes} bytes`
    if (this.#sharedBytes > limits.callBytesMax) {
      return `${subject}, and a call with them may have ${limits.callBytesMax}`
    }
    return rowCount * this.#sharedBytes > heldMergedBytesMax
      ? `${subject} and stand after ${rowCount} calls: they must stand before`
      : undefined
  }
}
