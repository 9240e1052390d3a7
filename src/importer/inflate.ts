import type { Gunzip } from 'node:zlib'
import { systemCode } from '../model/index.ts'
import { refuseForeign, showsFormat } from './foreign-format.ts'

/** A piece of a text, or the reason why the text ends early. */
type TextPart =
  | { readonly kind: 'text'; readonly bytes: Buffer }
  | {
      readonly kind: 'damaged'
      readonly message: string
      /** Number of bytes of input before the damage. */
      readonly readBytes: number
    }

const gzipMagic = Buffer.of(0x1f, 0x8b)

/**
 * Inflates gzip, and passes other input on. For damaged gzip, yields the text before the damage, then a `damaged`
 * part. Throws `cannot_read_file` if the input, inflated or not, is not text in UTF-8.
 */
export async function* inflate(input: AsyncIterable<Uint8Array>): AsyncGenerator<TextPart> {
  // The beginning of the text, until it shows the format.
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const part of inflated(input)) {
    if (head === undefined) {
      yield part
      continue
    }
    const isText = part.kind === 'text'
    if (isText) head = Buffer.concat([head, part.bytes])
    if (isText && !showsFormat(head)) continue
    yield accepted(head)
    head = undefined
    if (!isText) yield part
  }
  if (head !== undefined) yield accepted(head)
}

function accepted(bytes: Buffer): TextPart {
  refuseForeign(bytes)
  return { kind: 'text', bytes }
}

async function* inflated(input: AsyncIterable<Uint8Array>): AsyncGenerator<TextPart> {
  let inflater: Inflater | undefined
  let isFirst = true
  try {
    for await (const bytes of withWholeMagic(input)) {
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

/** Yields the input with enough bytes in its first chunk to recognise gzip, unless the input is shorter. */
async function* withWholeMagic(input: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const { buffer, byteOffset, byteLength } of input) {
    const bytes = Buffer.from(buffer, byteOffset, byteLength)
    if (head === undefined) {
      yield bytes
      continue
    }
    head = Buffer.concat([head, bytes])
    if (head.length < gzipMagic.length) continue
    yield head
    head = undefined
  }
  if (head !== undefined && head.length > 0) yield head
}

/** Maximum number of inflated bytes that zlib returns at once. */
const inflatedChunkBytes = 64 * 1024

/** Input bytes per call to zlib: few, because a failed call loses its output, which can be 1,000 times as long. */
const pieceBytes = 1024

class Inflater {
  readonly #stream: Gunzip
  readonly #inflated: Buffer[] = []
  #bytesRead = 0
  #settle: () => void = () => undefined

  private constructor(stream: Gunzip) {
    this.#stream = stream
    this.#stream.on('data', (bytes: Buffer) => this.#inflated.push(bytes))
    this.#stream.on('error', () => this.#settle())
    // NUL bytes may follow the last gzip member as padding. zlib ends the stream before them.
    this.#stream.on('end', () => this.#settle())
  }

  static async open(): Promise<Inflater> {
    // Load zlib only when it is needed: most files are not compressed.
    const { createGunzip } = await import('node:zlib')
    return new Inflater(createGunzip({ chunkSize: inflatedChunkBytes }))
  }

  get #isOver(): boolean {
    return this.#stream.readableEnded || this.#stream.errored !== null
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
    for (const bytes of this.#inflated.splice(0)) yield { kind: 'text', bytes }
    const { errored } = this.#stream
    if (errored === null) return
    yield { kind: 'damaged', message: damageOf(errored), readBytes: this.#bytesRead }
  }
}

function damageOf(failure: Error): string {
  if (systemCode(failure) === 'Z_BUF_ERROR') return 'The compressed data ends early'
  return `The compressed data is corrupt (${failure.message}): the rest cannot be read`
}
