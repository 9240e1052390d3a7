import { inflate, openInput, parseRow } from '../importer/index.ts'
import type { JsonObject } from '../model/index.ts'
import { readArchivedRow, rowBytesMax } from './archived-row.ts'

/**
 * A piece of the text in an archive file. Together, the pieces are all the text that can be decompressed.
 *
 * - `event`: a line with an event
 * - `unreadable`: a line that is neither an event nor blank, or the beginning of a line that is too long
 * - `other`: a blank line, the rest of a line that is too long, or a line that damage cuts off
 */
export type TextPiece = { readonly bytes: Buffer } & (
  | { readonly kind: 'event'; readonly row: JsonObject }
  | { readonly kind: 'unreadable'; readonly reason: string }
  | { readonly kind: 'other' }
)

type ArchiveText =
  | { readonly kind: 'pieces'; readonly pieces: readonly TextPiece[] }
  /** Comes last: from byte `readBytes` on, the file can't be decompressed. */
  | { readonly kind: 'damaged'; readonly reason: string; readonly readBytes: number }

/** Reads an archive file in constant memory. */
export async function* readArchiveText(path: string): AsyncGenerator<ArchiveText> {
  const lines = new Lines()
  for await (const part of inflate(await openInput(path))) {
    if (part.kind === 'text') {
      yield { kind: 'pieces', pieces: lines.push(part.bytes) }
      continue
    }
    const { message: reason, readBytes } = part
    // Report only the damage. The last line, which the damage cut off, must not count as unreadable too.
    const pieces = lines.end().map((piece) => (piece.kind === 'event' ? piece : other(piece.bytes)))
    yield { kind: 'pieces', pieces }
    yield { kind: 'damaged', reason, readBytes }
    return
  }
  yield { kind: 'pieces', pieces: lines.end() }
}

const lineFeed = 0x0a

/** Splits text into lines, each with its line feed. */
class Lines {
  #line = 1
  #held: Buffer[] = []
  #heldBytes = 0
  /** Whether the current line is longer than any row. Its remaining bytes are then passed on as they arrive. */
  #isTooLong = false

  push(chunk: Buffer): readonly TextPiece[] {
    const pieces: TextPiece[] = []
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      pieces.push(this.#complete(chunk.subarray(start, end + 1)))
      start = end + 1
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
    if (this.#isTooLong || this.#heldBytes > rowBytesMax) pieces.push(...this.#passOn())
    return pieces
  }

  end(): readonly TextPiece[] {
    return this.#heldBytes === 0 ? [] : [this.#complete(Buffer.alloc(0))]
  }

  #complete(end: Buffer): TextPiece {
    const bytes = this.#heldBytes === 0 ? end : Buffer.concat([...this.#held, end])
    const isRest = this.#isTooLong
    const line = this.#line++
    this.#held = []
    this.#heldBytes = 0
    this.#isTooLong = false
    return isRest ? other(bytes) : pieceOf({ bytes, isCut: false }, line)
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
  }

  #passOn(): readonly TextPiece[] {
    if (this.#heldBytes === 0) return []
    const bytes = Buffer.concat(this.#held)
    const piece = this.#isTooLong ? other(bytes) : pieceOf({ bytes, isCut: true }, this.#line)
    this.#held = []
    this.#heldBytes = 0
    this.#isTooLong = true
    return [piece]
  }
}

function pieceOf(text: Parameters<typeof parseRow>[0], line: number): TextPiece {
  const { bytes } = text
  const row = parseRow(text, line, rowBytesMax)
  if (row === undefined) return other(bytes)
  const reading = readArchivedRow(row)
  return reading.kind === 'event'
    ? { kind: 'event', row: reading.row, bytes }
    : { ...reading, bytes }
}

function other(bytes: Buffer): TextPiece {
  return { kind: 'other', bytes }
}
