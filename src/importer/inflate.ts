import type { Gunzip } from 'node:zlib'
import { systemCode } from '../model/index.ts'
import { refuseForeign } from './foreign-format.ts'

/** A piece of a text, or the reason why the text ends before its time. */
export type TextPart =
  | { readonly kind: 'text'; readonly bytes: Buffer }
  | {
      readonly kind: 'damaged'
      readonly message: string
      /** Bytes of input whose text was passed on. The bytes after them could not be inflated. */
      readonly readBytes: number
    }

const gzipMagic = Buffer.of(0x1f, 0x8b)
/** Enough to tell what a file is. */
const headBytes = 8

/**
 * Passes a text on as it is, and inflates one that begins like gzip, of one member or several. Of
 * damaged gzip it gives what can be inflated, then says that it is damaged.
 *
 * @throws EvrouteError `cannot_read_file` if the input is not text in UTF-8
 */
export async function* inflate(input: AsyncIterable<Uint8Array>): AsyncGenerator<TextPart> {
  let inflater: Inflater | undefined
  let isFirst = true
  try {
    for await (const bytes of withWholeHead(input, headBytes)) {
      if (isFirst && bytes.indexOf(gzipMagic) === 0) inflater = await Inflater.open()
      else if (isFirst) refuseForeign(bytes)
      isFirst = false
      if (inflater === undefined) yield { kind: 'text', bytes }
      else yield* inflater.push(bytes)
    }
    if (inflater !== undefined) yield* inflater.end()
  } finally {
    inflater?.destroy()
  }
}

/** The same bytes; the first chunk has `headBytes` of them, unless there are fewer. */
async function* withWholeHead(
  input: AsyncIterable<Uint8Array>,
  headBytes: number,
): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    if (head === undefined) {
      yield bytes
      continue
    }
    head = Buffer.concat([head, bytes])
    if (head.length < headBytes) continue
    yield head
    head = undefined
  }
  if (head !== undefined && head.length > 0) yield head
}

/** Inflated bytes that zlib hands over at once. */
const inflatedChunkBytes = 64 * 1024

/**
 * zlib drops the output of the call that finds damage, so calls are small. It also bounds what one call can
 * inflate to, about a thousand times as much.
 */
const pieceBytes = 1024

class Inflater {
  readonly #stream: Gunzip
  #inflated: Buffer[] = []
  #bytesRead = 0
  #failure: Error | undefined
  /** Whether no more text will come. */
  #isOver = false
  #settle: () => void = () => undefined

  private constructor(stream: Gunzip) {
    this.#stream = stream
    this.#stream.on('data', (bytes: Buffer) => this.#inflated.push(bytes))
    this.#stream.on('error', (error) => {
      this.#isOver = true
      this.#failure = error
      this.#settle()
    })
    // Zero bytes after the last member are padding; zlib ends the stream there by itself.
    this.#stream.on('end', () => {
      this.#isOver = true
      this.#settle()
    })
  }

  static async open(): Promise<Inflater> {
    // Loaded only now: most files are not compressed.
    const { createGunzip } = await import('node:zlib')
    return new Inflater(createGunzip({ chunkSize: inflatedChunkBytes }))
  }

  async *push(bytes: Buffer): AsyncGenerator<TextPart> {
    for (let start = 0; start < bytes.length && !this.#isOver; start += pieceBytes) {
      const piece = bytes.subarray(start, start + pieceBytes)
      yield* this.#parts((settle) => this.#stream.write(piece, settle))
      this.#bytesRead += piece.length
    }
  }

  async *end(): AsyncGenerator<TextPart> {
    if (!this.#isOver) yield* this.#parts(() => this.#stream.end())
  }

  destroy(): void {
    this.#stream.destroy()
  }

  async *#parts(start: (settle: () => void) => void): AsyncGenerator<TextPart> {
    await new Promise<void>((resolve) => {
      this.#settle = resolve
      start(resolve)
    })
    const inflated = this.#inflated
    this.#inflated = []
    for (const bytes of inflated) yield { kind: 'text', bytes }
    if (this.#failure === undefined) return
    const message = damageOf(this.#failure)
    yield { kind: 'damaged', message, readBytes: this.#bytesRead }
  }
}

function damageOf(failure: Error): string {
  if (systemCode(failure) === 'Z_BUF_ERROR') return 'The compressed data ends early'
  return `The compressed data is corrupt (${failure.message}): from here on it cannot be read`
}
