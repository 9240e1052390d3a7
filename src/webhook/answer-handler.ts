import { errors, type Dispatcher } from 'undici'
import { headerValue, type AnswerLimits, type AnswerText } from '../http/index.ts'

/** An answer to a request, as far as it is of interest. */
export interface Answer extends AnswerText {
  /** The HTTP status. */
  readonly status: number
  /** The value of `Retry-After`. */
  readonly retryAfter: string | undefined
}

/** What waits for an answer. */
export interface AnswerWaiter {
  /** Takes it once its body has ended, was cut off or is too long. */
  readonly answered: (answer: Answer) => void
  /** Is told why there is none. */
  readonly failed: (error: Error) => void
}

/**
 * Collects the answer to one request as it arrives, without a stream for its body. An error after the
 * head of an answer cuts its body off, as the end of the connection does.
 */
export class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly #limits: AnswerLimits
  readonly #waiter: AnswerWaiter
  readonly #kept: Uint8Array[] = []
  #readBytes = 0
  #head: Pick<Answer, 'status' | 'retryAfter'> | undefined

  constructor(limits: AnswerLimits, waiter: AnswerWaiter) {
    this.#limits = limits
    this.#waiter = waiter
  }

  /** Makes undici call the others in the way of its version 7. */
  onRequestStart(): void {
    // There is nothing to do yet.
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // An interim answer: the final one follows.
    if (status < 200) return
    this.#head = { status, retryAfter: headerValue(headers['retry-after']) }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    const { keptBytesMax, readBytesMax } = this.#limits
    if (this.#readBytes < keptBytesMax) {
      this.#kept.push(chunk.subarray(0, keptBytesMax - this.#readBytes))
    }
    this.#readBytes += chunk.length
    if (this.#readBytes > readBytesMax) controller.abort(new errors.RequestAbortedError())
  }

  onResponseEnd(): void {
    this.#end({ isWhole: true, error: undefined })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end({ isWhole: false, error })
  }

  #end({ isWhole, error }: { isWhole: boolean; error: Error | undefined }): void {
    if (this.#head === undefined) {
      this.#waiter.failed(error ?? new errors.SocketError('no answer'))
      return
    }
    const text = Buffer.concat(this.#kept).toString('utf8')
    this.#waiter.answered({ ...this.#head, text, isWhole })
  }
}
