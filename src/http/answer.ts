import type { IncomingMessage } from 'node:http'

/** How much of an answer's body to read and to keep. */
export interface AnswerLimits {
  /** A longer body is not read to its end, and its connection is closed. */
  readonly readBytesMax: number
  /** How many bytes to keep from the beginning of the body. */
  readonly keptBytesMax: number
}

/** Reads an answer's body until it ends, exceeds the limit or is cut off. Never rejects. */
export function readAnswer(
  response: IncomingMessage,
  { readBytesMax, keptBytesMax }: AnswerLimits,
): Promise<Answer> {
  const kept: Buffer[] = []
  let readBytes = 0
  response.on('data', (chunk: Buffer) => {
    if (readBytes < keptBytesMax) kept.push(chunk.subarray(0, keptBytesMax - readBytes))
    readBytes += chunk.length
    if (readBytes > readBytesMax) response.destroy()
  })
  // Ignore an error: `close` follows it, and `complete` is then false.
  response.on('error', () => undefined)
  return new Promise((resolve) => {
    response.on('close', () => {
      const { statusCode: status = 0, headers, complete } = response
      const isWhole = complete && readBytes <= readBytesMax
      resolve({ status, retryAfter: headers['retry-after'], text: textOf(kept), isWhole })
    })
  })
}

/** Returns the value of a header; the first one if there are several. */
export function headerValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** An HTTP answer to a request that this process sent. */
export interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  /** The part of the body that was read. */
  readonly text: string
  /** False if the body was cut off or exceeds the limit. */
  readonly isWhole: boolean
}

interface AnswerWaiter {
  /** Called once the body has ended, was cut off or is too long. */
  readonly answered: (answer: Answer) => void
  /** Called with the error if no answer came. */
  readonly failed: (error: Error) => void
}

interface RequestController {
  abort(reason: Error): void
}

/** An undici handler that collects an answer without a stream. After an error, it keeps the part that arrived. */
export class AnswerHandler {
  readonly #limits: AnswerLimits
  readonly #waiter: AnswerWaiter
  readonly #kept: Buffer[] = []
  #readBytes = 0
  #head: Pick<Answer, 'status' | 'retryAfter'> | undefined

  constructor(limits: AnswerLimits, waiter: AnswerWaiter) {
    this.#limits = limits
    this.#waiter = waiter
  }

  onRequestStart(): void {
    // Does nothing. undici recognises a handler with its current interface by this method.
  }

  onResponseStart(
    _controller: RequestController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // Skip an interim answer; the final one follows.
    if (status < 200) return
    this.#head = { status, retryAfter: headerValue(headers['retry-after']) }
  }

  onResponseData(controller: RequestController, chunk: Buffer): void {
    const { keptBytesMax, readBytesMax } = this.#limits
    if (this.#readBytes < keptBytesMax) {
      this.#kept.push(chunk.subarray(0, keptBytesMax - this.#readBytes))
    }
    this.#readBytes += chunk.length
    if (this.#readBytes > readBytesMax) controller.abort(new Error('The answer is too long'))
  }

  onResponseEnd(): void {
    this.#end()
  }

  /** Called when the request failed, or its answer was cut off. */
  onResponseError(_controller: RequestController, error: Error): void {
    this.#end(error)
  }

  #end(error?: Error): void {
    if (this.#head === undefined) {
      this.#waiter.failed(error ?? new Error('The request ended without an answer'))
      return
    }
    const { status, retryAfter } = this.#head
    const isWhole = error === undefined
    this.#waiter.answered({ status, retryAfter, text: textOf(this.#kept), isWhole })
  }
}

/** Most answers are a single chunk, which need not be copied. */
function textOf(chunks: readonly Buffer[]): string {
  const [only = noBytes] = chunks
  return (chunks.length > 1 ? Buffer.concat(chunks) : only).toString('utf8')
}

const noBytes = Buffer.alloc(0)
