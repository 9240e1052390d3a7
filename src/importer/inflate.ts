import type { Gunzip } from 'node:zlib'
import { systemCode } from '../model/index.ts'

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

/**
 * Passes a text on as it is, and inflates one that begins like gzip, of one member or several. Of
 * damaged gzip it gives what can be inflated, then says that it is damaged.
 */
export async function* inflate(input: AsyncIterable<Uint8Array>): AsyncGenerator<TextPart> {
  let inflater: Inflater | undefined
  let isFirst = true
  try {
    for await (const bytes of withWholeHead(input, gzipMagic.length)) {
      if (isFirst && bytes.indexOf(gzipMagic) === 0) inflater = await Inflater.open()
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
 * Where zlib finds damage it drops what the call at hand inflated, so the calls are small: of a
 * thirty-second of what was read before, within these bounds. The upper one also bounds what one
 * call can inflate to, about a thousand times as much.
 */
const pieceBytesMin = 16
const pieceBytesMax = 4 * 1024

/** The checksum and length at a member's end; read by themselves, a wrong one costs no text. */
const trailerBytes = 8

class Inflater {
  readonly #stream: Gunzip
  #inflated: Buffer[] = []
  #heldBack: Buffer = Buffer.alloc(0)
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
    const known = Buffer.concat([this.#heldBack, bytes])
    const end = Math.max(0, known.length - trailerBytes)
    this.#heldBack = known.subarray(end)
    yield* this.#write(known.subarray(0, end))
  }

  async *end(): AsyncGenerator<TextPart> {
    yield* this.#write(this.#heldBack)
    if (!this.#isOver) yield* this.#parts(() => this.#stream.end())
  }

  destroy(): void {
    this.#stream.destroy()
  }

  async *#write(bytes: Buffer): AsyncGenerator<TextPart> {
    let start = 0
    while (start < bytes.length && !this.#isOver) {
      const sizeBytes = Math.max(
        pieceBytesMin,
        Math.min(pieceBytesMax, Math.floor(this.#bytesRead / 32)),
      )
      const piece = bytes.subarray(start, start + sizeBytes)
      start += piece.length
      yield* this.#parts((settle) => this.#stream.write(piece, settle))
      this.#bytesRead += piece.length
    }
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
