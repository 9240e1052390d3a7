import { headerValue, type AnswerLimits, type AnswerText } from './answer.ts'

/** An HTTP answer to a request that this process sent. */
export interface Answer extends AnswerText {
  readonly status: number
  /** The value of `Retry-After`. */
  readonly retryAfter: string | undefined
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
  #controller: RequestController | undefined
  #abortedFor: Error | undefined

  constructor(limits: AnswerLimits, waiter: AnswerWaiter) {
    this.#limits = limits
    this.#waiter = waiter
  }

  /** Aborts the request, even while it waits for a connection. */
  abort(reason: Error): void {
    this.#abortedFor = reason
    if (this.#controller === undefined) this.#waiter.failed(reason)
    else this.#controller.abort(reason)
  }

  /** Called once the request has a connection. */
  onRequestStart(controller: RequestController): void {
    this.#controller = controller
    if (this.#abortedFor !== undefined) controller.abort(this.#abortedFor)
  }

  /** Called with the head of an answer. */
  onResponseStart(
    _controller: RequestController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // Skip an interim answer; the final one follows.
    if (status < 200) return
    this.#head = { status, retryAfter: headerValue(headers['retry-after']) }
  }

  /** Called with a part of the body. */
  onResponseData(controller: RequestController, chunk: Buffer): void {
    const { keptBytesMax, readBytesMax } = this.#limits
    if (this.#readBytes < keptBytesMax) {
      this.#kept.push(chunk.subarray(0, keptBytesMax - this.#readBytes))
    }
    this.#readBytes += chunk.length
    if (this.#readBytes > readBytesMax) controller.abort(new Error('The answer is too long'))
  }

  /** Called once the body has ended. */
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
