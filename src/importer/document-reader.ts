import { Batch } from './batch.ts'
import { endsWithBatchKey } from './format.ts'
import { HeldText } from './held-text.ts'
import { closeBrace, closeBracket, comma, openBrace, openBracket, trimBlank } from './json-bytes.ts'
import { badRow, leadingLines, parseRow, type BadRow, type Row, type TableRow } from './row.ts'
import { Nesting, StructureScanner, type StructuralRole } from './structure.ts'

/** `object`: in an object, which may be a call or the beginning of a batch. `members`: after the calls of a batch. */
type DocumentState = 'start' | 'object' | 'calls' | 'members' | 'closed'

/** Reads one JSON document: an array of calls, a batch document, or a call. Parses each call separately. */
export class DocumentReader {
  readonly #startLine: number
  readonly #scanner: StructureScanner
  readonly #held = new HeldText()
  #state: DocumentState = 'start'
  #nesting = new Nesting()
  #batch: Batch | undefined
  #partLine: number
  #partsRead = 0

  /** @param line - the number of the line on which the document begins */
  constructor(line: number) {
    this.#startLine = line
    this.#partLine = line
    this.#scanner = new StructureScanner(line)
  }

  get line(): number {
    return this.#scanner.line
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  get bufferedBytes(): number {
    return this.#held.keptBytes
  }

  /** Adds the rows that the chunk completes. Returns how many bytes it read: all, unless the document ends. */
  push(chunk: Buffer, rows: TableRow[]): number {
    let start = 0
    let at = this.#scanner.next(chunk, 0)
    while (at < chunk.length) {
      const byte = chunk[at] ?? 0
      if (this.#endsPart(byte, this.#nesting.read(byte))) {
        this.#endPart(byte, chunk.subarray(start, at), rows)
        start = at + 1
        if (this.isClosed) return start
      }
      at = this.#scanner.next(chunk, at + 1)
    }
    this.#held.append(chunk.subarray(start))
    return chunk.length
  }

  /** Adds the last row of an unfinished document, then a bad row that says what is missing, or quotes `damage`. */
  end(rows: TableRow[], damage?: string): void {
    const isCallWhole = this.#nesting.depth === 0 && !this.#scanner.inString
    const [line, message] = this.#missingEnd(isCallWhole)
    if (this.#state === 'calls' && isCallWhole) {
      const row = parseRow(this.#held.view(), this.#partLine)
      if (row?.kind === 'row' || (row !== undefined && damage === undefined)) {
        this.#addRow(row, rows)
      }
    }
    rows.push(badRow(line, 'invalid_json', damage ?? message))
  }

  #missingEnd(isCallWhole: boolean): readonly [line: number, message: string] {
    if (this.#state === 'object') {
      return [this.#startLine, 'The text ends before the object that begins here is closed']
    }
    if (this.#state === 'calls' && !isCallWhole) {
      const line = this.#partLine + leadingLines(this.#held.view().bytes)
      return [line, 'The text ends inside this row']
    }
    const what = this.#batch === undefined ? 'array' : 'batch'
    const message = `The text ends before the ${what} that begins on line ${this.#startLine} is closed`
    return [this.line, message]
  }

  #endsPart(byte: number, role: StructuralRole): boolean {
    switch (this.#state) {
      case 'start':
        return true
      case 'object':
        return this.#nesting.depth === 0 || (this.#nesting.depth === 1 && byte === openBracket)
      case 'calls':
        return role === 'closer' || role === 'separator'
      case 'members':
        return role === 'closer'
      case 'closed':
        return false
    }
  }

  #endPart(byte: number, rest: Buffer, rows: TableRow[]): void {
    switch (this.#state) {
      case 'start':
        this.#begin(byte)
        return
      case 'object':
        this.#held.append(rest)
        if (byte === openBracket) this.#readList(rows)
        else this.#readObject(rows)
        return
      case 'calls':
        this.#readCall(rest, byte === closeBracket, rows)
        return
      case 'members':
        this.#readMembers(rest, rows)
        return
      case 'closed':
        return
    }
  }

  #begin(opener: number): void {
    if (opener === openBracket) {
      this.#enterParts('calls', closeBracket)
      return
    }
    this.#state = 'object'
    // If the object is a call, the brace is part of its row.
    this.#held.append(Buffer.of(openBrace))
  }

  #enterParts(state: DocumentState, closer: number): void {
    this.#state = state
    this.#nesting = new Nesting(closer)
    this.#partLine = this.#scanner.line
    this.#partsRead = 0
  }

  #readObject(rows: TableRow[]): void {
    const row = parseRow(this.#held.complete(Buffer.of(closeBrace)), this.#startLine)
    if (row !== undefined) rows.push(row)
    this.#state = 'closed'
  }

  #readList(rows: TableRow[]): void {
    const head = this.#held.view()
    if (head.isCut || !endsWithBatchKey(head.bytes)) {
      this.#held.append(Buffer.of(openBracket))
      return
    }
    this.#batch = new Batch()
    const before = trimBlank(head.bytes.subarray(0, head.bytes.lastIndexOf('"batch"')))
    const members = before.at(-1) === comma ? before.subarray(0, -1) : before
    rows.push(...this.#batch.addMembers(members, this.#startLine))
    this.#held.complete(Buffer.alloc(0))
    this.#enterParts('calls', closeBracket)
  }

  #readCall(rest: Buffer, isLast: boolean, rows: TableRow[]): void {
    const row = parseRow(this.#held.complete(rest), this.#partLine)
    const isEmptyList = isLast && this.#partsRead === 0
    if (row !== undefined) this.#addRow(row, rows)
    else if (!isEmptyList) this.#addRow(this.#missingBefore(isLast ? 'bracket' : 'comma'), rows)
    this.#nextPart()
    if (!isLast) return
    if (this.#batch === undefined) this.#state = 'closed'
    else this.#enterParts('members', closeBrace)
  }

  #addRow(row: Row, rows: TableRow[]): void {
    rows.push(this.#batch?.merged(row) ?? row)
  }

  #readMembers(rest: Buffer, rows: TableRow[]): void {
    const { bytes, isCut } = this.#held.complete(rest)
    // A placeholder for all that comes before, because the text begins with a comma.
    const members = Buffer.concat([Buffer.from('{"...":0'), bytes])
    if (isCut)
      rows.push(badRow(this.#partLine, 'event_too_large', 'The end of the batch is too long'))
    else rows.push(...(this.#batch?.addMembers(members, this.#partLine) ?? []))
    this.#state = 'closed'
  }

  #missingBefore(what: string): BadRow {
    return badRow(this.line, 'invalid_json', `A value is missing before this ${what}`)
  }

  #nextPart(): void {
    this.#partsRead++
    this.#partLine = this.#scanner.line
  }
}
