import {
  batchDefaultsBytes,
  batchMerger,
  isJsonObject,
  isNestedDeeper,
  limits,
  type BatchDefaults,
  type JsonObject,
} from '../model/index.ts'
import { closeBrace } from './json-bytes.ts'
import { badRow, parseJson, type BadRow, type Row } from './row.ts'

const sharedMembers: readonly (keyof BatchDefaults)[] = ['context', 'integrations']

/** Merges the context and integrations of a batch document into each of its calls, as defaults. */
export class Batch {
  #shared: BatchDefaults = {}
  #merge = batchMerger({})
  #problem: string | undefined
  #hasCalls = false

  /**
   * Reads the members of the document that come before or after its calls. Returns a bad row for each error.
   *
   * @param text - an object with these members, without its closing brace
   */
  addMembers(text: Buffer, line: number): readonly BadRow[] {
    const parsed = parseJson(Buffer.concat([text, Buffer.of(closeBrace)]))
    if (parsed.kind === 'invalid') {
      const message = `Outside its calls, the batch is not valid ${parsed.problem}`
      return [badRow(line, 'invalid_json', message)]
    }
    const members = parsed.value as JsonObject
    if ('batch' in members) {
      return [badRow(line, 'invalid_json', 'A batch document can have only one batch')]
    }
    return sharedMembers
      .map((name) => this.#addMember(name, members[name], line))
      .filter((row) => row !== undefined)
  }

  merged(row: Row): Row {
    this.#hasCalls = true
    if (row.kind === 'bad') return row
    if (this.#problem !== undefined) return badRow(row.line, 'event_too_large', this.#problem)
    return { ...row, value: this.#merge(row.value) }
  }

  #addMember(name: keyof BatchDefaults, value: unknown, line: number): BadRow | undefined {
    if (value === undefined || value === null) return undefined
    if (!isJsonObject(value)) {
      return badRow(line, 'wrong_type', `The ${name} of a batch must be an object`)
    }
    if (this.#hasCalls) {
      const message = `The ${name} of the batch does not apply to its calls: it must come before them`
      return badRow(line, 'invalid_json', message)
    }
    if (isNestedDeeper(value, limits.callNestingMax)) {
      const message = `must not be nested more than ${limits.callNestingMax} levels deep`
      return badRow(line, 'wrong_type', `The ${name} of a batch ${message}`)
    }
    this.#shared = { ...this.#shared, [name]: value }
    this.#merge = batchMerger(this.#shared)
    const bytes = batchDefaultsBytes(this.#shared)
    if (bytes > limits.callBytesMax) {
      this.#problem =
        `The context and integrations of the batch are ${bytes} bytes, but a call that includes them may be ` +
        `at most ${limits.callBytesMax}`
    }
    return undefined
  }
}
